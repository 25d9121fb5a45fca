"""How far one person moves an answer: as the product reads it off a question, and as trying everybody finds it. Note 004."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, final

from sfumato.lessons.asked import Asked
from sfumato.lessons.lesson import Lesson, Terms, Told, Words
from sfumato.show.picture import Axis, Picture, Point, Series, Slides
from sfumato.show.sheet import Cell, Formula, Table

if TYPE_CHECKING:
    from sfumato.core.neighbours import Relation
    from sfumato.core.sensitivity import Sensitivity

EYES = ("blue", "black", "brown")
KINDS: tuple[tuple[str, int], ...] = tuple(product(EYES, (150, 175)))
"""Everybody is one of these: eyes, and a height in centimetres."""
ROOM: tuple[tuple[str, int], ...] = (*KINDS, ("brown", 175), ("blue", 150), ("black", 175))

BLUE = "SELECT COUNT(*) AS people FROM people WHERE eyes = 'blue'"
COLOURS = "SELECT eyes, COUNT(*) AS people FROM people WHERE eyes IN ('blue', 'black') GROUP BY eyes"
TWO_SUMS = (
    "SELECT COUNT(CASE WHEN eyes = 'blue' THEN 1 END) AS blue, COUNT(CASE WHEN eyes = 'black' THEN 1 END) AS black "
    "FROM people"
)
TALL = (
    "SELECT COUNT(CASE WHEN eyes = 'blue' THEN 1 END) AS blue, COUNT(CASE WHEN height > 160 THEN 1 END) AS tall "
    "FROM people"
)


@final
@dataclass(frozen=True)
class Reach:
    """One question under one relation: what the product says of it, and what trying finds."""

    sql: str
    relation: Relation
    max_rows: int = 1

    def asked(self, people: Sequence[tuple[str, int]]) -> Asked:
        """The question about a room of people."""
        from sfumato.queries.schema import Column, Schema, Table, Unit

        columns = (
            Column("eyes", "category", values=EYES),
            Column("height", "integer", range=(Fraction(50), Fraction(250))),
        )
        schema = Schema(
            (Table("people", columns, unit="person"),), Unit("person", self.relation, max_rows=self.max_rows)
        )
        data = {
            "person": [f"p{place}" for place in range(len(people))],
            "eyes": [eyes for eyes, _ in people],
            "height": [height for _, height in people],
        }
        return Asked(self.sql, schema, {"people": data}, 1)

    @cached_property
    def stated(self) -> Sensitivity:
        """What the product reads off the question, in counts: it never looks at a row for this."""
        bounded = self.asked(ROOM).bounded
        return bounded.sensitivity.scaled(Fraction(1, bounded.whole))

    def cells(self, people: Sequence[tuple[str, int]]) -> tuple[Fraction, ...]:
        """The exact answer as one vector."""
        asked = self.asked(people)
        whole = asked.bounded.whole
        return tuple(Fraction(int(cell), whole) for vector in asked.exact for cell in vector)

    @cached_property
    def tried(self) -> Fraction:
        """The largest change when each kind of person comes, or, under replace, takes the place of each other kind."""
        from sfumato.core.neighbours import Relation

        here = self.cells(ROOM)
        moves = [tuple(a - b for a, b in zip(self.cells((*ROOM, kind)), here, strict=True)) for kind in KINDS]
        if self.relation is Relation.REPLACE:
            moves = [tuple(a - b for a, b in zip(one, other, strict=True)) for one, other in product(moves, repeat=2)]
        return max(sum((abs(cell) for cell in move), Fraction(0)) for move in moves)


def both(sql: str) -> tuple[Reach, Reach]:
    """A question under add/remove and under replace."""
    from sfumato.core.neighbours import Relation

    return Reach(sql, Relation.ADD_REMOVE), Reach(sql, Relation.REPLACE)


def tell(terms: Terms) -> Told:
    """The product's figures beside those of trying everybody; and what the wrong relation costs."""
    from sfumato.core.neighbours import Relation
    from sfumato.mechanisms import Laplace

    say, number = terms.say, terms.number
    named = (
        (say(en="blue", fr="bleus"), BLUE),
        (say(en="blue, black", fr="bleus, noirs"), COLOURS),
        (say(en="in two sums", fr="en deux sommes"), TWO_SUMS),
        (say(en="blue, tall", fr="bleus, grands"), TALL),
    )
    rows: list[tuple[Cell, ...]] = []
    come: list[Point] = []
    swap: list[Point] = []
    for name, sql in named:
        added, replaced = both(sql)
        found = (added.stated.l1, added.tried, replaced.stated.l1, replaced.tried)
        rows.append((name, *(int(each) for each in found)))
        come.append(Point(name, float(found[0])))
        swap.append(Point(name, float(found[2])))
    thrice = Reach(BLUE, Relation.ADD_REMOVE, max_rows=3).stated.l1
    blue, colours, tall = (both(sql)[0].stated.l1 for sql in (BLUE, COLOURS, TALL))
    wrong = Laplace.calibrate(sensitivity=both(COLOURS)[0].stated, epsilon=terms.epsilon)
    broken = wrong.loss(both(COLOURS)[1].stated).epsilon(0)
    price = number(terms.epsilon)
    picture = Picture(
        title=say(en="How far one person moves each answer", fr="De combien une personne déplace chaque réponse"),
        told=say(
            en="Adding or removing one person moves a count by 1, and two counts that exclude each other by 1 in "
            "all; replacing one person moves those by 2. Two counts that may both hold the same person move by 2 "
            "either way.",
            fr="Ajouter ou retirer une personne déplace un compte de 1, et deux comptes qui s'excluent de 1 en tout ; "
            "en remplacer une déplace ces derniers de 2. Deux comptes qui peuvent contenir la même personne bougent "
            "de 2 dans les deux cas.",
        ),
        x=Axis(say(en="question", fr="requête"), scale="names"),
        y=Axis(say(en="L1 sensitivity", fr="sensibilité en norme 1"), domain=(0, 2.5)),
        series=(
            Series(say(en="add or remove one person", fr="ajouter ou retirer"), tuple(come), "bars", exact=True),
            Series(say(en="replace one person", fr="remplacer"), tuple(swap), "bars", exact=True),
        ),
    )
    return Told(
        says=(
            say(
                en="The noise must depend on the sensitivity of the question: the largest change of its answer "
                "between two neighbouring tables. Number of people with blue eyes: 1. Number with blue eyes and "
                "number with black eyes: 1. Number with blue eyes and number taller than 1.60 m: 2.",
                fr="Le bruit doit dépendre de la sensibilité de la requête : le plus grand écart de ses réponses "
                "entre deux bases voisines. Nombre de personnes aux yeux bleus : 1. Nombre aux yeux bleus et nombre "
                "aux yeux noirs : 1. Nombre aux yeux bleus et nombre de plus de 1,60 m : 2.",
            ),
        ),
        formulas=(
            Formula(
                r"\Delta_Q = \max_{\| D_1 - D_2 \|_1 = 1} \| Q(D_1) - Q(D_2) \|_1",
                "Δ_Q = max { |Q(D_1) − Q(D_2)|_1 : d(D_1, D_2) = 1 }",
            ),
        ),
        found=(
            say(
                en=f"The product was asked for the sensitivity of the note's three questions, and prints {blue}, "
                f"{colours}, {tall}. It reads them off the question and the policy, without looking at a row. "
                f"Everybody was then tried: each of the {len(KINDS)} kinds of people was added to a room of "
                f"{len(ROOM)}, or took the place of each other kind. No answer moved further than stated, and every "
                "bound but one is reached.",
                fr="Le produit, interrogé sur la sensibilité des trois requêtes de la note, affiche "
                f"{blue}, {colours}, {tall}. Il la lit dans la requête et dans la politique, sans regarder une seule "
                f"ligne. Tous les cas ont ensuite été essayés : chacun des {len(KINDS)} types de personnes a été "
                f"ajouté à une salle de {len(ROOM)}, ou y a pris la place de chaque autre type. Aucune réponse n'a "
                "bougé plus qu'annoncé, et toutes les bornes sauf une sont atteintes.",
            ),
            say(
                en=f"How a question is written matters. `{COLOURS}` says that nobody is in two groups: 1. "
                f"`{TWO_SUMS}` asks for the same two numbers, but the product does not reason about what the "
                "conditions exclude, and adds them up: 2, which is safe and costs twice the noise. With up to three "
                f"rows per person, the first question's sensitivity is {thrice}.",
                fr=f"La façon d'écrire compte. `{COLOURS}` dit que personne n'est dans deux groupes : 1. "
                f"`{TWO_SUMS}` demande les deux mêmes nombres, mais le produit ne raisonne pas sur ce que les "
                "conditions excluent, et les additionne : 2, ce qui est sûr et coûte deux fois plus de bruit. Avec "
                f"jusqu'à trois lignes par personne, la sensibilité de la première requête est {thrice}.",
            ),
        ),
        chart=Slides.one(picture),
        table=Table(
            (
                say(en="question", fr="requête"),
                say(en="add/remove: stated", fr="ajout/retrait : annoncé"),
                say(en="tried", fr="essayé"),
                say(en="replace: stated", fr="remplacement : annoncé"),
                say(en="tried", fr="essayé"),
            ),
            tuple(rows),
            caption=say(
                en="L1 sensitivities: by the product, and the largest change found by trying",
                fr="Sensibilités en norme 1 : celle du produit, et le plus grand écart trouvé en essayant",
            ),
        ),
        question=say(
            en="What is the sensitivity of a histogram of 1 000 colours? And of the number of people in each of 1 000 "
            "rooms, where one person may be seen in several?",
            fr="Quelle est la sensibilité d'un histogramme de 1 000 couleurs ? Et celle du nombre de personnes dans "
            "chacune de 1 000 salles, quand une même personne peut être vue dans plusieurs ?",
        ),
        answer=(
            say(
                en="1 for the colours: everybody has one, so one cell moves by 1. For the rooms, it is the number of "
                "rooms that one person may be seen in, up to 1 000: the policy sets a limit (`max_rows`), and the "
                "product lets each person's rows weigh no more than that in all.",
                fr="1 pour les couleurs : chacun en a une seule, et une seule case bouge de 1. Pour les salles, c'est "
                "le nombre de salles où une personne peut être vue, jusqu'à 1 000 : la politique fixe une limite "
                "(`max_rows`), et le produit empêche les lignes d'une personne de peser davantage en tout.",
            ),
        ),
        remark=(
            say(
                en="The three figures are right for the note's relation, add or remove. The middle one is not when a "
                "person is replaced: black eyes may become blue, and two counts move. Whoever keeps the 1 and means "
                f"replacement sells ε = {price} and gives ε = {number(broken)}: that is the product's own loss for "
                "that noise.",
                fr="Les trois valeurs sont justes pour la relation de la note, ajouter ou retirer. Celle du milieu "
                "ne l'est plus quand on remplace une personne : des yeux noirs peuvent devenir bleus, et deux comptes "
                f"bougent. Qui garde ce 1 en pensant à un remplacement vend ε = {price} et donne ε = "
                f"{number(broken)} : c'est la perte que le produit calcule pour ce bruit.",
            ),
        ),
    )


LESSON = Lesson(
    name="sensibilite",
    note="004",
    section=Words("The Laplace mechanism, definition", "Mécanisme de Laplace, définition"),
    title=Words("How far one person moves an answer", "De combien une personne déplace une réponse"),
    minutes=20,
    tell=tell,
    needs=("voisines",),
)
