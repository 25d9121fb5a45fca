"""Noise that never exceeds a limit, for many questions. Note 000, bounded noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

from sfumato.core.errors import BadInput
from sfumato.lessons.frequency import mean
from sfumato.lessons.lesson import Lesson, Terms, Told, Words
from sfumato.show.picture import Axis, Picture, Point, Series, Slides
from sfumato.show.sheet import Around, Formula, Table

if TYPE_CHECKING:
    from sfumato.mechanisms import BoundedNoise, Gaussian
    from sfumato.noise import Source

DELTA = "1e-5"
MANY = (1, 100, 300, 1000, 3000, 10_000)
WRONG = 100
"""The number of questions at which the two readings of the note are tried."""
SESSIONS = 50
CONFIDENCE = Fraction(19, 20)


def bounded(epsilon: Fraction, queries: int) -> BoundedNoise:
    """The least radius that the product finds; the note gives its order only."""
    from sfumato.mechanisms import BoundedNoise

    return BoundedNoise.calibrate(queries=queries, epsilon=epsilon, delta=DELTA)


def gaussian(epsilon: Fraction, queries: int) -> Gaussian:
    """The same promise about the same questions, each of which one person moves by 1 at most."""
    from sfumato.core.sensitivity import Sensitivity
    from sfumato.mechanisms import Gaussian

    return Gaussian.calibrate(sensitivity=Sensitivity.of_cells(queries), epsilon=epsilon, delta=DELTA)


def stretched(radius: Fraction, epsilon: Fraction, *, queries: int, moved: int = 1) -> tuple[float, float]:
    """What noise of this radius really keeps: epsilon at DELTA, and delta at this epsilon."""
    from sfumato.mechanisms import BoundedNoise

    loss = BoundedNoise(queries=queries, radius=radius).loss(moved)
    return loss.epsilon(DELTA), loss.delta(float(epsilon))


@final
@dataclass(frozen=True)
class Compared:
    """Both noises for one number of questions: limits that were computed, errors that were drawn."""

    queries: int
    radius: Fraction
    limit: float
    bounded_all: float
    gaussian_all: float
    bounded_largest: Around
    gaussian_largest: Around
    bounded_spread: Around
    gaussian_spread: Around

    @classmethod
    def of(cls, epsilon: Fraction, queries: int, source: Source) -> Compared:
        """SESSIONS sessions of so many answers each; the truth is 0, so an answer is its error."""
        import numpy as np

        ours, theirs = bounded(epsilon, queries), gaussian(epsilon, queries)
        count = SESSIONS * queries
        drawn = [
            np.asarray(ours.repeat([0], count, source), dtype=float).reshape(SESSIONS, queries),
            np.asarray(theirs.repeat(0, count, source), dtype=float).reshape(SESSIONS, queries),
        ]
        largest = [mean(np.abs(each).max(axis=1)) for each in drawn]
        spreads = [float(np.sqrt((each**2).mean())) for each in drawn]
        # A standard deviation from n draws is off by 1/sqrt(2n) of itself for normal noise, by less for bounded noise.
        around = [Around(spread, 1.96 * spread / math.sqrt(2 * count)) for spread in spreads]
        return cls(
            queries,
            ours.radius,
            ours.limit,
            ours.within_all(CONFIDENCE),
            theirs.within(1 - (1 - CONFIDENCE) / queries),
            *largest,
            *around,
        )


def over_root(queries: int, measured: Around) -> Point:
    """A measured mean and its bar, over the square root of the number of questions."""
    root = math.sqrt(queries)
    ends = measured.value - measured.within, measured.value + measured.within
    return Point(queries, measured.value / root, ends[0] / root, ends[1] / root)


def tell(terms: Terms) -> Told:
    """The largest error of k answers: bounded noise, its limit, and the Gaussian's."""
    if terms.epsilon < Fraction(1, 10):
        raise BadInput("finding the limits would take minutes", hint="give --epsilon 0.1 or more")
    say, number, percent = terms.say, terms.number, terms.percent
    found = [Compared.of(terms.epsilon, queries, terms.source) for queries in MANY]
    price = number(terms.epsilon)
    first, last = found[0], found[-1]
    beyond = next((each.queries for each in found if each.limit < each.gaussian_all), None)
    tried = next(each for each in found if each.queries == WRONG)
    moved, moved_delta = stretched(tried.radius, terms.epsilon, queries=WRONG, moved=2)
    twice, twice_delta = stretched(tried.radius, terms.epsilon, queries=2 * WRONG)
    drawn = found[1:]
    few = drawn[0]
    picture = Picture(
        title=say(
            en=f"The largest error of k answers, over √k; ε = {price}, δ = 10⁻⁵",
            fr=f"La plus grande erreur de k réponses, sur √k ; ε = {price}, δ = 10⁻⁵",
        ),
        told=say(
            en="Over √k, the Gaussian's largest error keeps growing, the bounded one and its limit do not. At k = "
            f"{number(few.queries)} it is {number(few.bounded_largest.value)} bounded, "
            f"{number(few.gaussian_largest.value)} Gaussian; at k = {number(last.queries)}, "
            f"{number(last.bounded_largest.value)} against {number(last.gaussian_largest.value)}.",
            fr="Divisée par √k, la plus grande erreur gaussienne croît encore ; celle du bruit borné et sa limite, "
            f"non. Pour k = {number(few.queries)}, elle est de {number(few.bounded_largest.value)} (borné) et de "
            f"{number(few.gaussian_largest.value)} (gaussien) ; pour k = {number(last.queries)}, de "
            f"{number(last.bounded_largest.value)} contre {number(last.gaussian_largest.value)}.",
        ),
        x=Axis(say(en="questions k", fr="requêtes k"), scale="log", domain=(80, 12_500)),
        y=Axis(say(en="largest error / √k", fr="plus grande erreur / √k")),
        series=(
            Series(
                say(en="bounded: the limit", fr="borné : la limite"),
                tuple(Point(each.queries, each.limit / math.sqrt(each.queries)) for each in drawn),
                "line",
                exact=True,
            ),
            Series(
                say(en="bounded: measured", fr="borné : mesuré"),
                tuple(over_root(each.queries, each.bounded_largest) for each in drawn),
            ),
            Series(
                say(en="Gaussian: measured", fr="gaussien : mesuré"),
                tuple(over_root(each.queries, each.gaussian_largest) for each in drawn),
            ),
        ),
        bars=say(
            en=f"Bars: 95 % intervals of the mean of {SESSIONS} sessions.",
            fr=f"Barres : intervalles à 95 % de la moyenne de {SESSIONS} sessions.",
        ),
    )
    crossing = (
        say(
            en="In this range the limit never passes below what the Gaussian errors respect with 95 % confidence.",
            fr="Dans cette plage, la limite ne passe jamais sous ce que les erreurs gaussiennes respectent à 95 %.",
        )
        if beyond is None
        else say(
            en=f"From k = {number(beyond)} on (among the k tried) even the limit, which is never exceeded, lies below "
            "what the Gaussian errors all respect with 95 % confidence.",
            fr=f"À partir de k = {number(beyond)} (parmi les k essayés), même la limite, jamais dépassée, est sous "
            "ce que les erreurs gaussiennes respectent toutes avec 95 % de confiance.",
        )
    )
    worse = last.bounded_spread.value / last.gaussian_spread.value - 1
    return Told(
        says=(
            say(
                en="Noise of bounded support answers k questions, each of them possibly chosen after the earlier "
                "answers were seen. The largest error is of the order of M √(k ln(1/δ)) / ε, with M the sensitivity, "
                "which improves on the Gaussian mechanism.",
                fr="Un bruit à support borné répond à k requêtes, chacune choisie éventuellement après avoir vu les "
                "réponses précédentes. La plus grande erreur est de l'ordre de M √(k ln(1/δ)) / ε, avec M la "
                "sensibilité, ce qui améliore le mécanisme gaussien.",
            ),
        ),
        formulas=(
            Formula(
                r"p(x) \propto e^{-1/(1 - (x/R)^2)^2} \quad (|x| < R)",
                "p(x) ∝ e^{-1/(1 − (x/R)²)²}  (|x| < R)",
            ),
            Formula(
                r"R = c \, \frac{M \sqrt{k \ln(1/\delta)}}{\varepsilon}, \qquad M = \max_i \max_{D \sim D'} |q_i(D) - q_i(D')|",
                "R = c M √(k ln(1/δ)) / ε,   M = max_i max_{D ~ D′} |q_i(D) − q_i(D′)|",
            ),
        ),
        found=(
            say(
                en="The order says nothing of the constant c, and noise is drawn from a number: the product computes "
                "the loss of the very law it draws, composed k times, and searches for the least radius. "
                f"Here c falls from {number(constant(first, terms.epsilon))} at k = 1 to "
                f"{number(constant(last, terms.epsilon))} at k = {number(last.queries)}.",
                fr="L'ordre de grandeur ne dit rien de la constante c, et un bruit se tire avec un nombre : le "
                "produit calcule la perte de la loi même qu'il tire, composée k fois, et cherche le plus petit "
                f"rayon. Ici, c descend de {number(constant(first, terms.epsilon))} pour k = 1 à "
                f"{number(constant(last, terms.epsilon))} pour k = {number(last.queries)}.",
            ),
            say(
                en=f"{SESSIONS} sessions of k answers were drawn from each mechanism. {crossing}",
                fr=f"{SESSIONS} sessions de k réponses ont été tirées de chaque mécanisme. {crossing}",
            ),
        ),
        chart=Slides.one(picture),
        table=Table(
            (
                "k",
                say(en="limit", fr="limite"),
                say(en="bounded: all, 95 %", fr="borné : toutes, 95 %"),
                say(en="Gaussian: all, 95 %", fr="gaussien : toutes, 95 %"),
                say(en="bounded: deviation", fr="borné : écart-type"),
                say(en="Gaussian: deviation", fr="gaussien : écart-type"),
            ),
            tuple(
                (
                    each.queries,
                    each.limit,
                    each.bounded_all,
                    each.gaussian_all,
                    each.bounded_spread,
                    each.gaussian_spread,
                )
                for each in found
            ),
            caption=say(
                en="What all k errors respect together, and the deviation of one of them (drawn)",
                fr="Ce que les k erreurs respectent ensemble, et l'écart-type de l'une d'elles (tiré)",
            ),
        ),
        question=say(
            en="A limit that is never exceeded sounds like a stronger promise. Why can noise with a limit not have δ "
            "= 0?",
            fr="Une limite jamais dépassée paraît une promesse plus forte. Pourquoi un bruit borné ne peut-il pas "
            "avoir δ = 0 ?",
        ),
        answer=(
            say(
                en="With answers q(D) + Z and |Z| < R, the answers near q(D) + R are impossible under a neighbour "
                "whose answer is smaller by 1. Whoever sees one knows which table it was: these outputs have a "
                "positive probability, and δ must cover it. The product refuses δ = 0.",
                fr="Avec des réponses q(D) + Z et |Z| < R, les réponses proches de q(D) + R sont impossibles pour une "
                "table voisine dont la réponse vaut 1 de moins. Qui en voit une sait de quelle table il s'agit : ces "
                "sorties ont une probabilité positive, que δ doit couvrir. Le produit refuse δ = 0.",
            ),
        ),
        remark=(
            say(
                en="“M the sensitivity of the function” is one word short: M is what one person moves in any single "
                "answer, at most, and k is the number of answers, known before the first. Measured with the radius "
                f"for ε = {price}, k = {WRONG} and M = 1: if one person moves each answer by 2, what is kept is ε = "
                f"{number(moved)} at the same δ (at the promised ε, δ = {number(moved_delta)}); if {2 * WRONG} "
                f"questions are asked, ε = {number(twice)} (at the promised ε, δ = {number(twice_delta)}).",
                fr="« M la sensibilité de la fonction » est trop court : M est ce qu'une personne déplace au plus "
                "dans une réponse quelconque, et k est le nombre de réponses, connu avant la première. Mesuré avec "
                f"le rayon pour ε = {price}, k = {WRONG} et M = 1 : si une personne déplace chaque réponse de 2, il "
                f"reste ε = {number(moved)} au même δ (à l'ε promis, δ = {number(moved_delta)}) ; si {2 * WRONG} "
                f"requêtes sont posées, ε = {number(twice)} (à l'ε promis, δ = {number(twice_delta)}).",
            ),
            say(
                en="“Improves on the Gaussian” holds for the largest error of many answers only. The deviation of "
                f"one answer is larger with bounded noise for every k tried: by {percent(worse)} at k = "
                f"{number(last.queries)}, and {number(first.bounded_spread.value / first.gaussian_spread.value, 2)} "
                "times as large at k = 1. A session that does not know k beforehand needs limits that grow with each "
                "answer, at one more logarithm: `OnlineBoundedNoise`.",
                fr="« Améliore le mécanisme gaussien » n'est vrai que de la plus grande erreur de nombreuses "
                "réponses. L'écart-type d'une réponse est plus grand avec le bruit borné pour tous les k essayés : de "
                f"{percent(worse)} pour k = {number(last.queries)}, et "
                f"{number(first.bounded_spread.value / first.gaussian_spread.value, 2)} fois plus grand pour k = 1. "
                "Une session qui ne connaît pas k d'avance veut des limites qui croissent à chaque réponse, au prix "
                "d'un logarithme de plus : `OnlineBoundedNoise`.",
            ),
        ),
    )


def constant(compared: Compared, epsilon: Fraction) -> float:
    """The c of the formula."""
    return float(compared.radius * epsilon) / math.sqrt(compared.queries * -math.log(float(DELTA)))


LESSON = Lesson(
    name="bruit-borne",
    note="000",
    section=Words("Bounded noise", "Bruit borné"),
    title=Words("Noise with a limit", "Un bruit qui a une limite"),
    minutes=30,
    tell=tell,
    needs=("bruit",),
)
