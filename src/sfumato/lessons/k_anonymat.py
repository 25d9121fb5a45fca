"""Emilie hides among two others, and all three have asthma. Note 000."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sfumato.lessons.frequency import share
from sfumato.lessons.lesson import Lesson, Terms, Told, Words
from sfumato.show.picture import Axis, Picture, Point, Series, Slides
from sfumato.show.sheet import Formula, Table

if TYPE_CHECKING:
    from sfumato.anonymise import Anonymised, Model
    from sfumato.noise import Source

Person = tuple[str, int, str, int]
CLINIC: tuple[Person, ...] = (
    ("Emilie", 24, "F", 0),
    ("Anne", 19, "F", 0),
    ("Nina", 28, "F", 0),
    ("Paul", 23, "M", 1),
    ("Jean", 30, "M", 2),
    ("Luc", 17, "M", 0),
    ("Marie", 44, "F", 1),
    ("Jeanne", 38, "F", 2),
    ("Odile", 49, "F", 3),
    ("Pierre", 41, "M", 1),
    ("Hugo", 36, "M", 1),
    ("Omar", 50, "M", 3),
)
"""A made-up clinic; Emilie is the note's. The last number is an illness."""
ILLNESSES = (("asthma", "asthme"), ("flu", "grippe"), ("migraine", "migraine"), ("diabetes", "diabète"))
CUTS = (10, 30, 50, 70, 90)
"""Public edges of ages: ]10, 30] is the note's."""
K = 3
FINE = tuple(range(10, 95, 5))
"""Finer public edges, for the larger clinics."""
MANY = (2, 3, 4, 5, 6, 8)
TABLES = 60
PEOPLE = 60


def frame(people: Sequence[Person], illnesses: Sequence[str]) -> Any:
    """The clinic as an Arrow table."""
    import pyarrow as pa

    names, ages, sexes, ill = zip(*people, strict=True)
    return pa.table({"name": names, "age": ages, "sex": sexes, "illness": [illnesses[each] for each in ill]})


def anonymised(table: Any, k: int, *models: Model, cuts: Sequence[int] = CUTS) -> Anonymised:
    """Names starred, ages and sexes made coarser, illnesses as they are."""
    from sfumato.anonymise import anonymise

    return anonymise(
        table,
        k=k,
        quasi_identifiers=["age", "sex"],
        sensitive=["illness"],
        identifiers=["name"],
        models=models,
        cuts={"age": cuts},
    )


def told(done: Anonymised) -> int:
    """How many people have their illness told with certainty, by the product's homogeneity attack on this release."""
    (attack,) = done.report.homogeneity
    return attack.certain


def clinic(source: Source) -> tuple[Person, ...]:
    """Another made-up clinic: ages from 11 to 90, four illnesses, all as likely."""
    from sfumato.noise import uniform_below

    ages, sexes, ill = (uniform_below(n, PEOPLE, source=source).tolist() for n in (80, 2, len(ILLNESSES)))
    return tuple((f"p{i}", 11 + ages[i], "FM"[sexes[i]], ill[i]) for i in range(PEOPLE))


def telling(clinics: Sequence[Any], k: int, *models: Model) -> tuple[float, float, float]:
    """The share of clinics whose release tells somebody's illness for certain."""
    return share(sum(told(anonymised(table, k, *models, cuts=FINE)) > 0 for table in clinics), len(clinics))


def tell(terms: Terms) -> Told:
    """Generalise, attack, repair; then sixty other clinics."""
    from sfumato.anonymise import DistinctDiversity, assess

    say, number, percent = terms.say, terms.number, terms.percent
    illnesses = [say(en=english, fr=french) for english, french in ILLNESSES]
    table = frame(CLINIC, illnesses)
    done, diverse = anonymised(table, K), anonymised(table, K, DistinctDiversity(2))
    emilie, repaired = (each.frame.to_pylist()[0] for each in (done, diverse))
    (attack,), (after,) = done.report.homogeneity, diverse.report.homogeneity
    linked = done.report.linkage
    clinics = [frame(clinic(terms.source), illnesses) for _ in range(TABLES)]
    plain = [Point(k, *telling(clinics, k)) for k in MANY]
    kept = [Point(k, *telling(clinics, k, DistinctDiversity(2))) for k in MANY]
    picture = Picture(
        title=say(en="Somebody's illness is told for certain", fr="La maladie de quelqu'un est dite avec certitude"),
        told=say(
            en=f"At k = {MANY[0]}, {percent(plain[0].y)} of the releases tell somebody's illness although nobody can "
            f"be found in them; at k = {MANY[-1]}, {percent(plain[-1].y)}. Asking for two illnesses in each group "
            f"brings it to {percent(max(each.y for each in kept))}.",
            fr=f"À k = {MANY[0]}, {percent(plain[0].y)} des publications disent la maladie de quelqu'un, alors que "
            f"personne n'y est retrouvable ; à k = {MANY[-1]}, {percent(plain[-1].y)}. Exiger deux maladies par groupe "
            f"ramène à {percent(max(each.y for each in kept))}.",
        ),
        x=Axis("k", domain=(1, 9)),
        y=Axis(say(en="share of releases", fr="part des publications"), domain=(0, 1), percent=True),
        series=(
            Series(say(en="k-anonymity", fr="k-anonymat"), tuple(plain)),
            Series(say(en="and two illnesses a group", fr="et deux maladies par groupe"), tuple(kept)),
        ),
        bars=say(
            en=f"Bars: 95 % intervals of a share among {TABLES} made-up clinics of {PEOPLE} people.",
            fr=f"Barres : intervalles à 95 % d'une part sur {TABLES} cliniques inventées de {PEOPLE} personnes.",
        ),
    )
    # The note's record alone: Emilie is made coarser, and nobody around her is.
    alone = [
        {"age": emilie["age"] if person[0] == "Emilie" else str(person[1]), "sex": person[2], "illness": row["illness"]}
        for person, row in zip(CLINIC, table.to_pylist(), strict=True)
    ]
    import pyarrow as pa

    single = assess(pa.Table.from_pylist(alone), quasi_identifiers=["age", "sex"], sensitive=["illness"])
    tight = clumsy(table)
    sure, others = crossed(done, table)
    return Told(
        says=(
            say(
                en="k-anonymity hides what nearly identifies a person by grouping it into broader classes, and keeps "
                "what is meant to be shared: [Emilie, 24, woman] becomes [*, 10 < age ≤ 30, woman].",
                fr="Le k-anonymat cache les quasi-identifiants d'une personne en les regroupant dans des classes plus "
                "larges, et garde ce qui est destiné à être partagé : [Emilie, 24 ans, femme] devient "
                "[*, 10 < âge ≤ 30, femme].",
            ),
        ),
        formulas=(
            Formula(
                r"\forall x \in T' : \quad |\{ y \in T' : QI(y) = QI(x) \}| \geq k",
                "for every x in T′: #{ y in T′ : QI(y) = QI(x) } ≥ k"
                if terms.lang == "en"
                else "pour tout x de T′ : #{ y dans T′ : QI(y) = QI(x) } ≥ k",
            ),
        ),
        found=(
            say(
                en=f'`sf.anonymise(clinic, k={K}, quasi_identifiers=["age", "sex"], ...)` on twelve made-up people '
                f"gives Emilie the row of the note: [{emilie['name']}, {emilie['age']}, {emilie['sex']}]. Every group "
                f"has {number(done.report.risk.smallest)} people, and a list of names with exact ages and sexes "
                f"finds at least {number(linked.fewest_matches)} rows for everybody.",
                fr=f'`sf.anonymise(clinic, k={K}, quasi_identifiers=["age", "sex"], ...)`, sur douze personnes '
                f"inventées, donne à Emilie la ligne de la note : [{emilie['name']}, {emilie['age']}, "
                f"{emilie['sex']}]. Chaque groupe a {number(done.report.risk.smallest)} personnes, et une liste de "
                f"noms avec âges et sexes exacts trouve au moins {number(linked.fewest_matches)} lignes pour chacun.",
            ),
            say(
                en=f"Then the product attacks its own release. All rows of Emilie's group say “{emilie['illness']}”: "
                f"no name is needed to read it. {attack.certain} of {attack.people} people have their illness told "
                f"with certainty. With two illnesses asked of each group, {after.certain} have; her row becomes "
                f"[{repaired['name']}, {repaired['age']}, {repaired['sex']}], and the detail lost goes from "
                f"{percent(done.report.utility.loss)} to {percent(diverse.report.utility.loss)}.",
                fr="Puis le produit attaque sa propre publication. Toutes les lignes du groupe d'Emilie disent "
                f"« {emilie['illness']} » : aucun nom n'est nécessaire pour le lire. La maladie de {attack.certain} "
                f"personnes sur {attack.people} est dite avec certitude. Avec deux maladies exigées par groupe, il en "
                f"reste {after.certain} ; sa ligne devient [{repaired['name']}, {repaired['age']}, "
                f"{repaired['sex']}], et le détail perdu passe de {percent(done.report.utility.loss)} à "
                f"{percent(diverse.report.utility.loss)}.",
            ),
        ),
        chart=Slides.one(picture),
        table=Table(
            (
                say(en="person (hidden)", fr="personne (cachée)"),
                say(en="age (hidden)", fr="âge (caché)"),
                say(en="age", fr="âge"),
                say(en="sex", fr="sexe"),
                say(en="illness", fr="maladie"),
            ),
            tuple(
                (person[0], person[1], row["age"], row["sex"], row["illness"])
                for person, row in zip(CLINIC, done.frame.to_pylist(), strict=True)
            ),
            caption=say(
                en=f"What is released for k = {K}: the three columns on the right",
                fr=f"Ce qui est publié pour k = {K} : les trois colonnes de droite",
            ),
        ),
        question=say(
            en="With two illnesses in each group nobody's is certain any more. Has Emilie nothing left to fear from "
            "somebody who knows her age and sex?",
            fr="Avec deux maladies par groupe, celle de personne n'est plus certaine. Emilie n'a-t-elle plus rien à "
            "craindre de qui connaît son âge et son sexe ?",
        ),
        answer=(
            say(
                en="She has. Naming the commonest illness of the group is right for "
                f"{percent(after.guessed)} of the people, of the whole table for {percent(after.baseline)}: the odds "
                f"of a value rise by a factor of up to {number(after.odds)}. And a second release of the same people, "
                f"with other cuts, can be laid over the first: crossing both, {sure} people have their illness told "
                f"with certainty, {others} of whom the first release alone did not give away. No ε bounds it, because "
                "nothing is drawn at random.",
                fr="Si. Nommer la maladie la plus fréquente du groupe est juste pour "
                f"{percent(after.guessed)} des personnes, celle de toute la table pour {percent(after.baseline)} : la "
                f"cote d'une valeur est multipliée jusqu'à {number(after.odds)} fois. Et une seconde publication des "
                "mêmes personnes, avec d'autres coupures, peut être posée sur la première : en les croisant, la "
                f"maladie de {sure} personnes est dite avec certitude, dont {others} que la première publication seule "
                "ne livrait pas. Aucun ε ne borne cela, car rien n'est tiré au hasard.",
            ),
        ),
        remark=(
            say(
                en="The note shows the generalisation of one record. k-anonymity is a property of the table: with "
                f"only Emilie's row made coarser and the others left as they are, the smallest group has "
                f"{single.risk.smallest} person and {single.risk.uniques} of {single.risk.people} stand alone, Emilie "
                "among them. The promise is about how many rows look like hers, not about how her own looks.",
                fr="La note montre la généralisation d'un enregistrement. Le k-anonymat est une propriété de la "
                f"table : si seule la ligne d'Emilie est élargie, et que les autres restent telles quelles, le plus "
                f"petit groupe a {single.risk.smallest} personne et {single.risk.uniques} personnes sur "
                f"{single.risk.people} sont seules de leur espèce, dont Emilie. La promesse porte sur le nombre de "
                "lignes qui ressemblent à la sienne, non sur l'allure de la sienne.",
            ),
            say(
                en="Nor does the note say that the bounds 10 and 30 must be public. Taken from the rows "
                f'(`edges="data"`), Emilie\'s cell reads {tight}: two exact ages of her group are given away. And '
                "none of this is differential privacy: ask `sf.anonymise` for an ε, and it refuses (SF018).",
                fr="La note ne dit pas non plus que les bornes 10 et 30 doivent être publiques. Prises dans les lignes "
                f'(`edges="data"`), la cellule d\'Emilie se lit {tight} : deux âges exacts de son groupe sont '
                "livrés. Et rien de cela n'est de la confidentialité différentielle : demandez un ε à "
                "`sf.anonymise`, il refuse (SF018).",
            ),
        ),
    )


def clumsy(table: Any) -> str:
    """Emilie's age when intervals run from the least to the greatest age of a group."""
    from sfumato.anonymise import anonymise

    done = anonymise(table, k=K, quasi_identifiers=["age", "sex"], sensitive=["illness"], edges="data")
    return str(done.frame.to_pylist()[0]["age"])


def crossed(first: Anonymised, table: Any) -> tuple[int, int]:
    """Two releases of the same people laid over each other: whose illness is the only one that both allow, and for how
    many of them the first one alone allowed several."""
    second = anonymised(table, K, cuts=(0, 20, 40, 60, 80))

    def allowed(done: Anonymised) -> list[set[str]]:
        rows = done.frame.to_pylist()
        groups: dict[tuple[str, str], set[str]] = {}
        for row in rows:
            groups.setdefault((row["age"], row["sex"]), set()).add(row["illness"])
        return [groups[row["age"], row["sex"]] for row in rows]

    both = list(zip(allowed(first), allowed(second), strict=True))
    sure = [len(one) for one, other in both if len(one & other) == 1]
    return len(sure), sum(size > 1 for size in sure)


LESSON = Lesson(
    name="k-anonymat",
    note="000",
    section=Words("k-anonymisation", "K-anonymisation"),
    title=Words("Emilie in a crowd of three", "Emilie dans une foule de trois"),
    minutes=20,
    tell=tell,
    needs=("mallory",),
    epsilon=None,
)
