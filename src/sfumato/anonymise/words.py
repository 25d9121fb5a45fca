"""The sentences of reports, in English and in French."""

from __future__ import annotations

from typing import Literal

Lang = Literal["en", "fr"]

WORDS: dict[Lang, dict[str, str]] = {
    "en": {
        "mondrian": "Mondrian: the table is cut at medians; people of one value stay together",
        "relaxed": "relaxed Mondrian: the table is cut at medians; people of one value may be parted",
        "local": "local recoding: each group is as coarse as it needs to be, by the hierarchies",
        "global": (
            "global recoding: each column has one level of its hierarchy ({levels}); {looked} of "
            "{nodes} combinations had to be looked at to know the best"
        ),
        "microaggregate": "microaggregation: numbers are replaced by the mean of the group",
        "l.method": "method",
        "l.people": "people",
        "people": "{rows} in the table, {released} released, {suppressed} suppressed",
        "l.groups": "groups",
        "groups": "{groups} of people who look alike; the smallest has {smallest}, the average {average}",
        "l.promise": "promise",
        "promise": "{model}: attained {attained}",
        "l.loss": "detail lost",
        "loss": (
            "{loss} (0 % told exactly, 100 % nothing told): {columns}. Entropy {entropy}, "
            "discernibility {discernibility}, average group / k {ratio}"
        ),
        "l.risk": "risk",
        "risk": (
            "of being found again, knowing that the person is in the table: {highest} at most, {mean}"
            " on average, {above} people above {threshold}; knowing a population: {journalist}; "
            "records found on average by whoever wants many: {marketer}; {uniques} people stand alone"
        ),
        "journalist": "{highest} at most, {mean} on average",
        "no population": "the same, no population table was given",
        "starred": "{suppressed} rows say * in every quasi-identifier; they are suppressed, and in no figure",
        "l.without": "columns",
        "without": "without {column}, {uniques} people would stand alone",
        "l.attained": "kept",
        "l.attack": "attacked",
        "homogeneity": (
            "homogeneity on {column}: {certain} of {people} people have their value told with "
            "certainty; naming the commonest value of the group is right for {guessed}, of the table "
            "for {baseline}"
        ),
        "linkage": (
            "linkage of {targets} people by name and exact quasi-identifiers: at least {fewest} "
            "matching records, {mean} on average, {singled} people singled out, {absent} seen to be "
            "absent"
        ),
        "told": "; {told} have their {column} told by all their matches",
        "l.choice": "choices",
        "null.value": "a missing value counts as one value more",
        "null.wildcard": (
            "a missing value stays missing and matches every value: who knows which values are "
            "missing sees smaller groups"
        ),
        "null.none": "no quasi-identifier has a missing value",
        "edges.public": (
            "edges of intervals are public cut points; that somebody lies in the first and in the "
            "last step of an interval can be read from it"
        ),
        "edges.data": "edges of intervals are values of people: the least and the greatest of each group can be read",
        "edges.hierarchy": (
            "names come from hierarchies that the owner gave, or from steps of the order of magnitude of the column"
        ),
        "edges.mean": "numbers are exact means of groups: they are made from the data",
        "hidden": "columns that were not named are left out: {columns}",
        "replaced": "identifiers are replaced by *: {columns}",
        "order": (
            "rows keep their order, which somebody may know; shuffle them if it tells anything. An index is not kept"
        ),
        "choices": "{first}; {rest}",
        "l.warning": "warning",
        "warning": (
            "SF018 this is not differential privacy. {figure} Nothing bounds what several such "
            "releases tell together, or what a reader with other knowledge learns."
        ),
        "figure.sensitive": (
            "In this release {certain} of {people} people have their {column} told with certainty, "
            "and the odds of a value rise {odds} for whoever knows a person's quasi-identifiers."
        ),
        "figure.alone": (
            "In this release whoever knows a person's quasi-identifiers names the right record with "
            "probability up to {highest}."
        ),
        "odds": "up to {odds} times",
        "odds.unbounded": "without bound",
        "query error": "counts of {queries} questions are off by {median} (median), {mean} (mean)",
        "chart.sizes": "People by the size of their group of look-alikes",
        "chart.size": "people who look alike",
        "chart.people": "people",
        "chart.frontier": "Detail lost against risk, as k grows",
        "chart.loss": "detail lost",
        "chart.risk": "mean risk of being found again",
    },
    "fr": {
        "mondrian": (
            "Mondrian\u202f: la table est coupée aux médianes\u202f; les personnes de même valeur restent ensemble"
        ),
        "relaxed": (
            "Mondrian relâché\u202f: la table est coupée aux médianes\u202f; des personnes de même valeur "
            "peuvent être séparées"
        ),
        "local": "recodage local\u202f: chaque groupe est aussi grossier qu'il le faut, selon les hiérarchies",
        "global": (
            "recodage global\u202f: chaque colonne a un seul niveau de sa hiérarchie ({levels})\u202f; {looked}"
            " combinaisons sur {nodes} ont suffi pour connaître la meilleure"
        ),
        "microaggregate": "micro-agrégation\u202f: les nombres sont remplacés par la moyenne du groupe",
        "l.method": "méthode",
        "l.people": "personnes",
        "people": "{rows} dans la table, {released} publiées, {suppressed} supprimées",
        "l.groups": "groupes",
        "groups": "{groups} de personnes semblables\u202f; le plus petit en a {smallest}, la moyenne est {average}",
        "l.promise": "promesse",
        "promise": "{model}\u202f: atteint {attained}",
        "l.loss": "détail perdu",
        "loss": (
            "{loss} (0 % tout est dit, 100 % rien n'est dit)\u202f: {columns}. Entropie {entropy}, "
            "discernabilité {discernibility}, groupe moyen / k {ratio}"
        ),
        "l.risk": "risque",
        "risk": (
            "d'être retrouvé, sachant que la personne est dans la table\u202f: {highest} au plus, {mean} "
            "en moyenne, {above} personnes au-dessus de {threshold}\u202f; connaissant une population\u202f: "
            "{journalist}\u202f; enregistrements retrouvés en moyenne par qui en veut beaucoup\u202f: "
            "{marketer}\u202f; {uniques} personnes sont seules"
        ),
        "journalist": "{highest} au plus, {mean} en moyenne",
        "no population": "le même, aucune table de population n'est donnée",
        "starred": "{suppressed} lignes disent * partout ; elles sont supprimées, et dans aucun chiffre",
        "l.without": "colonnes",
        "without": "sans {column}, {uniques} personnes seraient seules",
        "l.attained": "tenu",
        "l.attack": "attaque",
        "homogeneity": (
            "homogénéité sur {column}\u202f: {certain} personnes sur {people} ont leur valeur révélée à "
            "coup sûr\u202f; dire la valeur la plus fréquente du groupe est juste pour {guessed}, celle de"
            " la table pour {baseline}"
        ),
        "linkage": (
            "appariement de {targets} personnes par nom et quasi-identifiants exacts\u202f: au moins "
            "{fewest} enregistrements possibles, {mean} en moyenne, {singled} personnes isolées, "
            "{absent} dont on voit l'absence"
        ),
        "told": "\u202f; pour {told}, tous les enregistrements possibles disent le même {column}",
        "l.choice": "choix",
        "null.value": "une valeur manquante compte comme une valeur de plus",
        "null.wildcard": (
            "une valeur manquante reste manquante et vaut pour toutes\u202f: qui sait lesquelles manquent "
            "voit des groupes plus petits"
        ),
        "null.none": "aucun quasi-identifiant n'a de valeur manquante",
        "edges.public": (
            "les bornes des intervalles sont des points de coupe publics\u202f; qu'il y ait quelqu'un dans"
            " le premier et dans le dernier pas d'un intervalle se lit"
        ),
        "edges.data": (
            "les bornes des intervalles sont des valeurs de personnes\u202f: la plus petite et la plus "
            "grande de chaque groupe se lisent"
        ),
        "edges.hierarchy": (
            "les noms viennent de hiérarchies données par le propriétaire, ou de pas de l'ordre de "
            "grandeur de la colonne"
        ),
        "edges.mean": "les nombres sont les moyennes exactes des groupes\u202f: ils sont faits à partir des données",
        "hidden": "les colonnes qui ne sont pas nommées sont omises\u202f: {columns}",
        "replaced": "les identifiants sont remplacés par *\u202f: {columns}",
        "order": (
            "les lignes gardent leur ordre, que quelqu'un connaît peut-être\u202f; mélangez-les s'il dit "
            "quelque chose. Un index n'est pas gardé"
        ),
        "choices": "{first}\u202f; {rest}",
        "l.warning": "attention",
        "warning": (
            "SF018 ceci n'est pas de la confidentialité différentielle. {figure} Rien ne borne ce que"
            " plusieurs publications de ce genre disent ensemble, ni ce qu'apprend un lecteur qui "
            "sait autre chose."
        ),
        "figure.sensitive": (
            "Ici {certain} personnes sur {people} ont leur {column} révélé à coup sûr, et la cote "
            "d'une valeur monte {odds} pour qui connaît les quasi-identifiants de quelqu'un."
        ),
        "figure.alone": (
            "Ici, qui connaît les quasi-identifiants de quelqu'un désigne le bon enregistrement avec "
            "une probabilité allant jusqu'à {highest}."
        ),
        "odds": "jusqu'à {odds} fois",
        "odds.unbounded": "sans borne",
        "query error": "les comptes de {queries} questions s'écartent de {median} (médiane), {mean} (moyenne)",
        "chart.sizes": "Personnes selon la taille de leur groupe de semblables",
        "chart.size": "personnes semblables",
        "chart.people": "personnes",
        "chart.frontier": "Détail perdu et risque, quand k grandit",
        "chart.loss": "détail perdu",
        "chart.risk": "risque moyen d'être retrouvé",
    },
}


def say(key: str, lang: Lang, **values: object) -> str:
    """One sentence, filled in."""
    return WORDS[lang][key].format(**values)


MODELS = {
    "k-anonymity": "k-anonymat",
    "at most": "au plus",
    "at least": "au moins",
    "k-map": "k-map",
    "distinct l-diversity": "l-diversité distincte",
    "entropy l-diversity": "l-diversité d'entropie",
    "recursive (c, l)-diversity": "(c, l)-diversité récursive",
    "(alpha, k)-anonymity": "(alpha, k)-anonymat",
    "t-closeness": "t-proximité",
    ", on ": ", sur ",
    "(equal)": "(égale)",
    "(ordered)": "(ordonnée)",
    "(hierarchical)": "(hiérarchique)",
}
"""What models are called in French."""


def named(model: object, lang: Lang) -> str:
    """A model and its parameters."""
    text = str(model)
    if lang == "fr":
        for english, french in MODELS.items():
            text = text.replace(english, french)
    return text
