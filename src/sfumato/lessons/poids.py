"""Averages over private rows from weighted public ones, and one that weights cannot give. Note 000, importance weighting."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, final

from sfumato.core.errors import NotSupported
from sfumato.lessons.frequency import share
from sfumato.lessons.lesson import Lesson, Terms, Told, Words
from sfumato.show.picture import Axis, Picture, Point, Series
from sfumato.show.sheet import Formula, Table

if TYPE_CHECKING:
    from sfumato.mechanisms.weights.rows import Rows
    from sfumato.mechanisms.weights.weighing import Weighing
    from sfumato.mechanisms.weights.weighted import Weighted
    from sfumato.noise import Source

PUBLIC, PRIVATE = 2000, 20_000
RELEASES = 50
GOLDEN = 0.6180339887498949


@final
@dataclass(frozen=True, eq=False)
class People:
    """Ages, and who smokes: made up, the same each time."""

    ages: Any
    smokes: Any

    @classmethod
    def of(cls, count: int, *, age: float, smokers: float) -> People:
        """Normal ages (deviation 16, cut at 18 and 90), by quantiles; smokers are spread evenly over all ages."""
        import numpy as np
        from scipy.stats import norm

        places = np.arange(count)
        return cls(np.clip(norm.ppf((places + 0.5) / count) * 16 + age, 18, 90), places * GOLDEN % 1 < smokers)

    def asked(self) -> tuple[Any, Any, Any]:
        """The functions b, at each row."""
        return self.ages >= 65, self.ages < 40, self.smokes


@cache
def tables() -> tuple[People, People]:
    """A census, and the patients of a clinic: older, and twice as many of them smoke."""
    return People.of(PUBLIC, age=45, smokers=0.3), People.of(PRIVATE, age=60, smokers=0.6)


def priced(epsilon: Fraction) -> Weighing:
    """Weights on the census, by age; no patient was looked at."""
    from sfumato.mechanisms.weights.column import Columns, Numeric
    from sfumato.mechanisms.weights.reference import Reference
    from sfumato.mechanisms.weights.weighing import Weighing

    reference = Reference.of(Columns.of({"age": Numeric(18, 90)}), {"age": tables()[0].ages})
    return Weighing.priced(reference, size=PRIVATE, epsilon=epsilon)


def coded(weighing: Weighing, leave_out: int = 0) -> Rows:
    """The patients as the mechanism reads them; without the oldest ones."""
    from sfumato.mechanisms.weights.rows import Rows

    ages = tables()[1].ages
    columns = weighing.mechanism.reference.columns
    return Rows.of(columns.code({"age": ages[: len(ages) - leave_out]}))


def released(weighing: Weighing, source: Source) -> list[Weighted]:
    """Independent releases; the product refuses weights that rest on too few rows."""
    usable = []
    for tilt in weighing.mechanism.repeat(coded(weighing), RELEASES, source):
        weighted = weighing.weighted(tilt)
        try:
            _ = weighted.weights
        except NotSupported:
            continue
        usable.append(weighted)
    return usable


def tell(terms: Terms) -> Told:
    """Three averages, on the public table, on the private one, and by weights."""
    say, number, percent = terms.say, terms.number, terms.percent
    public, private = tables()
    names = (
        say(en="65 and over", fr="65 ans et plus"),
        say(en="under 40", fr="moins de 40 ans"),
        say(en="smokers", fr="fumeurs"),
    )
    census = [float(each.mean()) for each in public.asked()]
    truth = [float(each.mean()) for each in private.asked()]
    rows: dict[Fraction, list[tuple[str, float, float, float, str]]] = {}
    refused: dict[Fraction, int] = {}

    def draw(epsilon: Fraction) -> Picture:
        usable = released(priced(epsilon), terms.source)
        refused[epsilon] = RELEASES - len(usable)
        points, lines = [], []
        for name, values, there, here in zip(names, public.asked(), census, truth, strict=True):
            found = [each.estimate(values) for each in usable]
            if not found:
                continue
            first, around = found[0], found[0].within("0.95")
            points.append(Point(name, first.value, max(0.0, first.value - around), min(1.0, first.value + around)))
            hits = share(sum(abs(each.value - here) <= each.within("0.95") for each in found), len(found))
            held = say(
                en=f"{percent(hits[0])} ({percent(hits[1])} to {percent(hits[2])})",
                fr=f"{percent(hits[0])} ({percent(hits[1])} à {percent(hits[2])})",
            )
            lines.append((name, there, here, first.value, held))
        rows[epsilon] = lines
        price = number(epsilon)
        known = ", ".join(f"{name} {percent(here)}" for name, here in zip(names, truth, strict=True))
        estimated = ", ".join(f"{point.x} {percent(point.y)}" for point in points)
        return Picture(
            title=say(en=f"Three averages, ε = {price}", fr=f"Trois moyennes, ε = {price}"),
            told=say(
                en=f"By weights: {estimated or 'refused'}. In the private table: {known}. Weights by age move the "
                "shares of ages towards the private table's; the share of smokers stays where the public table has it.",
                fr=f"Par les poids : {estimated or 'refusé'}. Dans la table privée : {known}. Des poids selon l'âge "
                "rapprochent les parts d'âges de celles de la table privée ; la part des fumeurs reste celle de la "
                "table publique.",
            ),
            x=Axis("", scale="names"),
            y=Axis(say(en="share", fr="part"), domain=(0, 1), percent=True),
            series=(
                Series(say(en="public table", fr="table publique"), exactly(names, census), "dots", exact=True),
                Series(say(en="private table", fr="table privée"), exactly(names, truth), "dots", exact=True),
                Series(say(en="weighted public rows", fr="lignes publiques pondérées"), tuple(points), "dots"),
            ),
            bars=say(
                en="Bars: the 95 % intervals that the product gives with one release.",
                fr="Barres : les intervalles à 95 % que le produit donne avec une publication.",
            ),
        )

    chart = terms.slides(draw, at=("0.05", "0.2", "1"))
    weighing = priced(terms.epsilon)
    (with_all,) = weighing.mechanism.fit(coded(weighing))
    (without,) = weighing.mechanism.fit(coded(weighing, leave_out=1))
    price = number(terms.epsilon)
    gone = refused[terms.epsilon]
    return Told(
        says=(
            say(
                en="A table E is public, a table D is private. Weights w on the rows of E are sought such that, for "
                "every function b, the average of b over D is approximately the weighted average of b over E. The "
                "weights are published in a private manner; whoever has them computes averages over D.",
                fr="Une table E est publique, une table D est privée. On cherche des poids w sur les lignes de E tels "
                "que, pour toute fonction b, la moyenne de b sur D soit à peu près la moyenne pondérée de b sur E. "
                "Les poids sont publiés de façon confidentielle ; qui les a calcule des moyennes sur D.",
            ),
        ),
        formulas=(
            Formula(
                r"E_D[b] \approx \frac{1}{N_E} \sum_{x \in E} b(x) \, w(x)",
                "E_D[b] ≈ (1/N_E) Σ_{x ∈ E} b(x) w(x)",
            ),
            Formula(
                r"w(x) = \frac{N_E \, e^{\beta' \cdot x}}{\sum_{e \in E} e^{\beta' \cdot e}}, \qquad "
                r"\beta' = \beta^* + \mathrm{Lap}(S/\varepsilon)",
                "w(x) = N_E e^{β′·x} / Σ_{e ∈ E} e^{β′·e},   β′ = β* + Lap(S/ε)",
            ),
        ),
        found=(
            say(
                en=f"The public table is a census of {number(PUBLIC)} rows, the private one {number(PRIVATE)} patients "
                "of a clinic, older (both made up). A logistic regression tells patients from census rows by age; its "
                f"slope β*, blurred once at ε = {price}, makes the weights. Any number of averages follows at no cost.",
                fr=f"La table publique est un recensement de {number(PUBLIC)} lignes, la table privée, "
                f"{number(PRIVATE)} patients d'une clinique, plus âgés (toutes deux inventées). Une régression "
                "logistique distingue les patients du recensement par l'âge ; sa pente β*, brouillée une fois à ε = "
                f"{price}, fait les poids. Autant de moyennes que l'on veut en découlent sans autre prix.",
            ),
            say(
                en=f"The table counts, among {RELEASES} releases ({gone} of them refused, for want of rows that "
                "carry weight), how often the interval of 95 % held the truth.",
                fr=f"Le tableau compte, sur {RELEASES} publications ({gone} refusées, faute de lignes qui portent le "
                "poids), combien de fois l'intervalle à 95 % contenait la vérité.",
            ),
        ),
        chart=chart,
        table=Table(
            (
                "b",
                say(en="public", fr="publique"),
                say(en="private", fr="privée"),
                say(en="by weights", fr="par les poids"),
                say(en="intervals that hold (95 %)", fr="intervalles justes (95 %)"),
            ),
            tuple(rows[terms.epsilon]),
            caption=say(en=f"Shares, ε = {price}", fr=f"Parts, ε = {price}"),
        ),
        question=say(
            en="Why can no weights that depend on age alone find the share of smokers, whatever ε?",
            fr="Pourquoi des poids qui ne dépendent que de l'âge ne peuvent-ils pas trouver la part des fumeurs, quel "
            "que soit ε ?",
        ),
        answer=(
            say(
                en="In the census, smokers are as many at every age: however ages are weighed, they stay "
                f"{percent(census[2])}. Patients of the same age smoke more. Nothing that was released looks at "
                "smoking, so nothing in it, its error bars included, can know.",
                fr="Dans le recensement, les fumeurs sont aussi nombreux à tout âge : quelle que soit la pondération "
                f"des âges, ils restent {percent(census[2])}. Les patients du même âge fument davantage. Rien de ce "
                "qui est publié ne regarde le tabac : rien, barres d'erreur comprises, ne peut le savoir.",
            ),
        ),
        remark=(
            say(
                en="“For every function b” is false: only for those that the chosen columns explain. Here the share of "
                f"smokers comes out near {percent(census[2])} instead of {percent(truth[2])}; its intervals held the "
                f"truth in {rows[terms.epsilon][2][4]} of the releases.",
                fr="« Pour toute fonction b » est faux : seulement pour celles que les colonnes choisies expliquent. "
                f"Ici, la part des fumeurs sort près de {percent(census[2])} au lieu de {percent(truth[2])} ; ses "
                f"intervalles contenaient la vérité dans {rows[terms.epsilon][2][4]} des publications.",
            )
            if gone < RELEASES
            else say(
                en="“For every function b” is false: only for those that the chosen columns explain.",
                fr="« Pour toute fonction b » est faux : seulement pour celles que les colonnes choisies expliquent.",
            ),
            say(
                en="The note does not say where the noise goes. It goes on β*, before the weights. Exact weights tell: "
                f"with all patients the slope is {number(with_all)} steps of the lattice, without the oldest one "
                f"{number(without)}. Whoever knows the others reads off whether this one was there. And a sentence of "
                "the note stops in the middle, at a lost dollar sign.",
                fr="La note ne dit pas où va le bruit. Il va sur β*, avant les poids. Des poids exacts trahissent : "
                f"avec tous les patients, la pente est de {number(with_all)} pas du réseau ; sans le plus âgé, de "
                f"{number(without)}. Qui connaît les autres y lit si celui-ci était là. Et une phrase de la note "
                "s'arrête au milieu, à un signe dollar perdu.",
            ),
        ),
    )


def exactly(names: tuple[str, ...], values: list[float]) -> tuple[Point, ...]:
    """What both tables hold."""
    return tuple(Point(name, value) for name, value in zip(names, values, strict=True))


LESSON = Lesson(
    name="poids",
    note="000",
    section=Words("Importance weighting", "Pondération par importance"),
    title=Words("Averages from somebody else's rows", "Des moyennes sur les lignes d'autrui"),
    minutes=30,
    tell=tell,
    needs=("bruit",),
)
