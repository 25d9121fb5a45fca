"""Tables as histograms, and how far apart they are. Note 004, neighbouring tables."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

from sfumato.lessons.asked import Asked
from sfumato.lessons.lesson import Lesson, Terms, Told, Words
from sfumato.show.picture import Axis, Picture, Point, Series, Slides
from sfumato.show.sheet import Cell, Formula, Table

if TYPE_CHECKING:
    from sfumato.core.sensitivity import Sensitivity

HEIGHTS = ("5′0", "5′1", "5′2", "5′3", "5′4")
"""The universe, each height once."""
TABLES: dict[str, tuple[str, ...]] = {
    "D1": ("5′0", "5′1", "5′2", "5′1", "5′4"),
    "D2": ("5′0", "5′1", "5′2", "5′0", "5′3"),
    "D3": ("5′0", "5′1", "5′2", "5′1", "5′4", "5′2"),
    "D4": ("5′1", "5′2", "5′1", "5′3"),
}
SHOWN = (("D1", "D2"), ("D1", "D3"), ("D1", "D4"))
"""The pairs that the note compares."""
SQL = "SELECT height, COUNT(*) AS people FROM heights GROUP BY height"


def histogram(name: str) -> tuple[int, ...]:
    """A table as the vector of its counts, by the product's own question."""
    from sfumato.queries.answer import Estimate
    from sfumato.queries.schema import Column, Schema, Table, Unit

    schema = Schema((Table("heights", (Column("height", "category", values=HEIGHTS),), unit="person"),), Unit("person"))
    rows = TABLES[name]
    data = {"person": [f"p{place}" for place in range(len(rows))], "height": list(rows)}
    found = {row[0]: row[1] for row in Asked(SQL, schema, {"heights": data}, 1).true().rows}
    counts = [found[height] for height in HEIGHTS]
    return tuple(int(each.value or 0) for each in counts if isinstance(each, Estimate))


def between(one: tuple[int, ...], other: tuple[int, ...]) -> Sensitivity:
    """The distance between two histograms, in every norm that a mechanism may ask for."""
    from sfumato.core.sensitivity import Sensitivity

    moved = [abs(a - b) for a, b in zip(one, other, strict=True)]
    return Sensitivity(
        Fraction(sum(moved)),
        Fraction(max(moved)),
        Fraction(sum(each * each for each in moved)),
        cells=sum(each > 0 for each in moved),
    )


def replacements(one: tuple[int, ...], other: tuple[int, ...]) -> int | None:
    """How many people must be replaced by others; None when the tables are not equally long."""
    if sum(one) != sum(other):
        return None
    return (Counter(dict(enumerate(one))) - Counter(dict(enumerate(other)))).total()


def tell(terms: Terms) -> Told:
    """Four tables, their distances, and what a promise about neighbours says of tables further apart."""
    from sfumato.mechanisms import Laplace

    say, number = terms.say, terms.number
    known = {name: histogram(name) for name in TABLES}
    mechanism = Laplace.calibrate(epsilon=terms.epsilon)
    rows: list[tuple[Cell, ...]] = []
    for one, other in combinations(TABLES, 2):
        apart = between(known[one], known[other])
        swaps = replacements(known[one], known[other])
        rows.append(
            (
                f"{one}, {other}",
                int(apart.l1),
                say(en="yes", fr="oui") if apart.l1 == 1 else say(en="no", fr="non"),
                swaps,
                mechanism.loss(apart).epsilon(0),
            )
        )
    spoken = {pair: int(between(known[pair[0]], known[pair[1]]).l1) for pair in SHOWN}
    picture = Picture(
        title=say(en="Four tables as histograms", fr="Quatre bases vues comme des histogrammes"),
        told=say(
            en="D1 and D3 differ in one column by one person. D1 and D2 differ in four columns, D1 and D4 in three.",
            fr="D1 et D3 diffèrent d'une personne dans une seule colonne. D1 et D2 diffèrent dans quatre colonnes, "
            "D1 et D4 dans trois.",
        ),
        x=Axis(say(en="height (feet′inches)", fr="taille (pieds′pouces)"), scale="names"),
        y=Axis(say(en="people", fr="personnes"), domain=(0, 2.5)),
        series=tuple(
            Series(
                name,
                tuple(Point(height, count) for height, count in zip(HEIGHTS, counts, strict=True)),
                "bars",
                exact=True,
            )
            for name, counts in known.items()
        ),
    )
    price = number(terms.epsilon)
    return Told(
        says=(
            say(
                en="A table is a multiset of values of a universe, so it is a histogram: a vector of counts. Two "
                "tables are neighbours when these vectors are at L1 distance 1, that is, when one of them has one "
                "person more.",
                fr="Une base est un multi-ensemble de valeurs d'un univers : c'est donc un histogramme, un vecteur "
                "d'effectifs. Deux bases sont voisines quand ces vecteurs sont à distance 1 en norme 1, "
                "c'est-à-dire quand l'une a une personne de plus que l'autre.",
            ),
        ),
        formulas=(
            Formula(
                r"\| D_1 - D_2 \|_1 = \sum_i | D_1[i] - D_2[i] |, \qquad "
                r"D_1 \sim D_2 \iff \| D_1 - D_2 \|_1 = 1",
                "d(D_1, D_2) = Σ_i |D_1[i] − D_2[i]|,   D_1 ~ D_2 ⇔ d(D_1, D_2) = 1",
            ),
            Formula(
                r"\Pr[M(D) \in S] \leq e^{d \varepsilon} \Pr[M(D') \in S] \quad (d = \| D - D' \|_1)",
                "P(M(D) ∈ S) ≤ e^{dε} P(M(D′) ∈ S),   d = d(D, D′)",
            ),
        ),
        found=(
            say(
                en=f"The product counted the four tables of the note: `{SQL}`. The distances are "
                f"{spoken[SHOWN[0]]} between D1 and D2, {spoken[SHOWN[1]]} between D1 and D3 and "
                f"{spoken[SHOWN[2]]} between D1 and D4: only D1 and D3 are neighbours.",
                fr=f"Le produit a compté les quatre bases de la note : `{SQL}`. Les distances valent "
                f"{spoken[SHOWN[0]]} entre D1 et D2, {spoken[SHOWN[1]]} entre D1 et D3 et {spoken[SHOWN[2]]} entre "
                "D1 et D4 : seules D1 et D3 sont voisines.",
            ),
            say(
                en=f"A promise about neighbours says something of all pairs: going from one table to the other takes "
                f"d steps, and each costs ε. The last column is the product's own loss at ε = {price} for histograms "
                "that far apart; Laplace noise reaches it exactly.",
                fr="Une promesse sur les voisines dit quelque chose de toutes les paires : on passe d'une base à "
                "l'autre en d pas, et chacun coûte ε. La dernière colonne est la perte calculée par le produit à "
                f"ε = {price} pour des histogrammes à cette distance ; le bruit de Laplace l'atteint exactement.",
            ),
        ),
        chart=Slides.one(picture),
        table=Table(
            (
                say(en="pair", fr="paire"),
                say(en="distance d", fr="distance d"),
                say(en="neighbours", fr="voisines"),
                say(en="replacements", fr="remplacements"),
                say(en="loss dε", fr="perte dε"),
            ),
            tuple(rows),
            caption=say(
                en=f"The six pairs, ε = {price}; a dash where no replacement leads from one to the other",
                fr=f"Les six paires, ε = {price} ; un tiret là où aucun remplacement ne mène de l'une à l'autre",
            ),
        ),
        question=say(
            en="D1 and D2 have five people each. If neighbours were tables in which one person's value was replaced, "
            "how far apart would they be? And D1 and D3?",
            fr="D1 et D2 ont cinq personnes chacune. Si les voisines étaient les bases où la valeur d'une personne a "
            "été remplacée, à quelle distance seraient-elles ? Et D1 et D3 ?",
        ),
        answer=(
            say(
                en="D1 and D2: two replacements (5′1 becomes 5′0, and 5′4 becomes 5′3), half of the L1 distance, "
                "since a replacement takes one person away and adds another. D1 and D3: no number of replacements "
                "leads from five people to six; under that relation the number of people is public.",
                fr="D1 et D2 : deux remplacements (5′1 devient 5′0, et 5′4 devient 5′3), la moitié de la distance en "
                "norme 1, car remplacer, c'est retirer une personne et en ajouter une autre. D1 et D3 : aucun nombre "
                "de remplacements ne mène de cinq personnes à six ; pour cette relation, le nombre de personnes est "
                "public.",
            ),
        ),
        remark=(
            say(
                en="The distances are right. The universe is printed with 5′1 twice, as six values, while the "
                "vectors have five coordinates: a universe lists each value once, or D1 would have two histograms, "
                "(1, 2, 1, 0, 0, 1) and (1, 1, 1, 1, 0, 1), and a distance to itself above 0.",
                fr="Les distances sont justes. L'univers est imprimé avec 5′1 deux fois, soit six valeurs, alors que "
                "les vecteurs ont cinq coordonnées : un univers cite chaque valeur une seule fois, sinon D1 aurait "
                "deux histogrammes, (1, 2, 1, 0, 0, 1) et (1, 1, 1, 1, 0, 1), et une distance à elle-même supérieure à 0.",
            ),
            say(
                en="The note adds or removes a person, and says so in its last example only; notes 001 and 003 also "
                "replace one. A sensitivity or a loss without its relation is unfinished: every one of the product's "
                f"carries it (here: `{mechanism.loss(1).about}`), and two that differ are never added.",
                fr="La note ajoute ou retire une personne, et ne le dit que dans son dernier exemple ; les notes 001 et 003 "
                "en remplacent aussi. Une sensibilité ou une perte sans sa relation est inachevée : chacune de "
                f"celles du produit la porte (ici : `{mechanism.loss(1).about}`), et deux qui diffèrent ne "
                "s'ajoutent jamais.",
            ),
        ),
    )


LESSON = Lesson(
    name="voisines",
    note="004",
    section=Words("Neighbouring tables", "Bases de données voisines"),
    title=Words("How far apart are two tables?", "À quelle distance sont deux bases ?"),
    minutes=15,
    tell=tell,
    needs=("mallory",),
)
