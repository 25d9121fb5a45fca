"""The words of a certificate, in English and in French. French colons and semicolons follow a narrow no-break space."""

from __future__ import annotations

from typing import Any

WORDS: dict[str, dict[str, Any]] = {
    "en": {
        "certificate": "Certificate of a release",
        "colon": ": ",
        "percent": " %",
        "what": "What was released",
        "id": "release, issued",
        "issuer": "issuer",
        "dataset": "data set, version",
        "policy": "policy",
        "product": "made with",
        "supersedes": "supersedes",
        "guarantee": "What is promised",
        "protects": "protects",
        "unit": {"person": "each person", "household": "each household", "device": "each device", "row": "each row"},
        "rows": "rows of each",
        "fact": "nobody has more: declared as a fact",
        "bound": "at most so many count; the rest is weighed down",
        "neighbours": "neighbours",
        "add-remove": "two tables that differ by one of them, there or not",
        "replace": "two tables that differ by one of them, replaced by another",
        "variant": "kind",
        "variants": {
            "epsilon-differential privacy": "ε-differential privacy",
            "(epsilon, delta)-differential privacy": "(ε, δ)-differential privacy",
        },
        "accounting": "how ε was found",
        "accountings": {
            "sum of the losses": "sum of the losses",
            "sum of the rhos": "sum of the rhos (zCDP)",
            "numeric composition of the losses": "numeric composition of the losses, all fixed before the first answer",
        },
        "row_count": "number of rows",
        "counts": {"private": "private: not published exactly", "public": "private; the number of units is public"},
        "ledger": "The budget",
        "accountant": "accountant",
        "charged": "its losses add up to",
        "spent": "spent since {since}",
        "cap": "the most, for ever",
        "position": "position in the ledger",
        "head": "head of the ledger",
        "product_of": "Product",
        "kind": "kind",
        "kinds": {},
        "about": {},
        "table": "table",
        "counted": "counted",
        "keys": "keys",
        "listed": "{of}: public list of {count}",
        "told": "{of}: private; told where a noisy number of units reaches {count}",
        "with_missing": ", missing values among them",
        "clipped": "moved into",
        "accuracy": "accuracy",
        "ranks": "{name}, quantiles {levels}: ranks within {rows} rows of the sample's",
        "mechanism": "mechanism",
        "sensitivity": "sensitivity (cells)",
        "law": "law",
        "proofs": "Why it holds",
        "precision": "Accuracy and bias",
        "covers": "bars",
        "bias": "bias",
        "also": "Also public about the same people",
        "unprotected": "Released without protection",
        "declared": "Declared public",
        "declared_size": "Declared public: about {size} rows.",
        "nothing_unprotected": "No release without protection is known to the ledger.",
        "audit": "Audit of this version",
        "digest": "digest of the record",
        "files": "Files (SHA-256)",
        "limits": "What it does not promise",
        "signature": "Signed by",
        "signer": "Signed by (fingerprint)",
        "signed": "The signed document is certificate.json: `sfumato certificate verify certificate.json` checks it, and "
        "every file of the release, offline.",
        "aipd": {
            "title": "For the impact assessment: what this release can reveal",
            "criteria": [
                (
                    "Who is protected",
                    "{unit}, over the whole life of the data set; rows of each that count: at most {rows}. ε = {epsilon}, "
                    "δ = {delta} for this release alone; everything this data set may ever publish stays within "
                    "ε = {whole}, a cap that only the owner can raise, in the ledger, with a reason.",
                ),
                (
                    "In plain words",
                    "Someone who guesses with even odds is right at most {guess} % of the time after reading it. A belief of "
                    "1 % becomes at most {belief} %.",
                ),
                (
                    "Singling out",
                    "Nobody can be isolated with more confidence than these odds allow: every number carries random noise, of "
                    "the size of what one person could change, and nobody's record is published.",
                ),
                (
                    "Linkability",
                    "Two releases, or a release and another file, can be brought together only through the noise of each: what "
                    "they tell together about one person is at most the sum of their ε. The ledger keeps that sum.",
                ),
                (
                    "Inference",
                    "What can be inferred about a person from the release is nearly what could be inferred had they not taken "
                    "part: their odds change by at most the factor e^ε. What is true of groups can be learnt; that is its "
                    "purpose.",
                ),
            ],
            "also": "What else is public",
            "limits": "Limits",
        },
    },
    "fr": {
        "certificate": "Certificat de publication",
        "colon": "\u202f: ",
        "percent": "\u202f%",
        "what": "Ce qui est publié",
        "id": "publication, date",
        "issuer": "émetteur",
        "dataset": "jeu de données, version",
        "policy": "politique",
        "product": "produit par",
        "supersedes": "remplace",
        "guarantee": "Ce qui est garanti",
        "protects": "protège",
        "unit": {
            "person": "chaque personne",
            "household": "chaque foyer",
            "device": "chaque appareil",
            "row": "chaque ligne",
        },
        "rows": "lignes de chacun",
        "fact": "personne n’en a davantage\u202f: déclaré comme un fait",
        "bound": "au plus autant comptent\u202f; le reste pèse moins",
        "neighbours": "voisinage",
        "add-remove": "deux tables qui diffèrent d’une unité, présente ou non",
        "replace": "deux tables qui diffèrent d’une unité, remplacée par une autre",
        "variant": "nature",
        "variants": {
            "epsilon-differential privacy": "confidentialité différentielle ε",
            "(epsilon, delta)-differential privacy": "confidentialité différentielle (ε, δ)",
        },
        "accounting": "calcul de ε",
        "accountings": {
            "sum of the losses": "somme des pertes",
            "sum of the rhos": "somme des ρ (zCDP)",
            "numeric composition of the losses": "composition numérique des pertes, toutes fixées avant la première réponse",
        },
        "row_count": "nombre de lignes",
        "counts": {
            "private": "privé\u202f: non publié exactement",
            "public": "privé\u202f; le nombre d’unités est public",
        },
        "ledger": "Le budget",
        "accountant": "comptabilité",
        "charged": "somme de ses pertes",
        "spent": "dépensé depuis le {since}",
        "cap": "le maximum, pour toujours",
        "position": "place dans le registre",
        "head": "tête du registre",
        "product_of": "Produit",
        "kind": "nature",
        "kinds": {
            "counts": "effectifs",
            "means": "moyennes",
            "marginals": "marginales",
            "histogram": "histogramme",
            "quantiles": "quantiles",
            "question": "question",
            "weights": "poids",
            "synthetic": "table synthétique",
        },
        "about": {},
        "table": "table",
        "counted": "compté",
        "keys": "clés",
        "listed": "{of}\u202f: liste publique de {count}",
        "told": "{of}\u202f: privées\u202f; dites où un nombre bruité d’unités atteint {count}",
        "with_missing": ", dont les valeurs manquantes",
        "clipped": "ramené entre",
        "accuracy": "précision",
        "ranks": "{name}, quantiles {levels}\u202f: rangs à {rows} lignes près dans l’échantillon",
        "mechanism": "mécanisme",
        "sensitivity": "sensibilité (cases)",
        "law": "loi",
        "proofs": "Pourquoi cela tient",
        "precision": "Précision et biais",
        "covers": "barres",
        "bias": "biais",
        "also": "Aussi public sur les mêmes personnes",
        "unprotected": "Publié sans protection",
        "declared": "Déclaré public",
        "declared_size": "Déclaré public\u202f: environ {size} lignes.",
        "nothing_unprotected": "Le registre ne connaît aucune publication sans protection.",
        "audit": "Audit de cette version",
        "digest": "empreinte du rapport",
        "files": "Fichiers (SHA-256)",
        "limits": "Ce qui n’est pas garanti",
        "signature": "Signé par",
        "signer": "Signé par (empreinte)",
        "signed": "Le document signé est certificate.json\u202f: `sfumato certificate verify certificate.json` le vérifie, "
        "avec tous les fichiers de la publication, hors ligne.",
        "aipd": {
            "title": "Pour l’analyse d’impact (AIPD)\u202f: ce que cette publication peut révéler",
            "criteria": [
                (
                    "Qui est protégé",
                    "Unité protégée\u202f: {unit}, sur toute la vie du jeu de données\u202f; lignes de chacun qui "
                    "comptent\u202f: au plus {rows}. ε = {epsilon}, δ = {delta} "
                    "pour cette publication seule\u202f; tout ce que ce jeu de données "
                    "pourra jamais publier reste dans ε = {whole}, plafond que seul le propriétaire peut relever, dans le "
                    "registre, avec une raison.",
                ),
                (
                    "En clair",
                    "Qui devine à pile ou face a raison au plus {guess}\u202f% du temps après l’avoir lue. Une conviction de "
                    "1\u202f% devient au plus {belief}\u202f%.",
                ),
                (
                    "Individualisation",
                    "Personne ne peut être isolé avec plus d’assurance que ces chances ne le permettent\u202f: chaque nombre "
                    "porte un bruit aléatoire, de la taille de ce qu’une personne pourrait y changer, et l’enregistrement de "
                    "personne n’est publié.",
                ),
                (
                    "Corrélation",
                    "Deux publications, ou une publication et un autre fichier, ne peuvent être rapprochées qu’à travers le "
                    "bruit de chacune\u202f: ce qu’elles disent ensemble d’une personne est au plus la somme de leurs ε. Le "
                    "registre tient cette somme.",
                ),
                (
                    "Inférence",
                    "Ce qu’on peut déduire d’une personne est presque ce qu’on en déduirait si elle n’avait pas participé"
                    "\u202f: les chances changent au plus du facteur e^ε. Ce qui est vrai de groupes peut s’apprendre\u202f; "
                    "c’est le but.",
                ),
            ],
            "also": "Ce qui est public par ailleurs",
            "limits": "Limites",
        },
    },
}
