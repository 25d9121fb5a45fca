"""Recommending a film to a club: minus the distance, from a public catalogue, and a sensitivity over all clubs. Note 000."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.lessons.exponentiel import chances
from sfumato.lessons.frequency import among
from sfumato.lessons.lesson import Lesson, Terms, Told, Words
from sfumato.show.picture import Axis, Picture, Point, Series
from sfumato.show.sheet import Cell, Formula, Table

if TYPE_CHECKING:
    from sfumato.mechanisms import Exponential

Film = tuple[str, str, int, int]
CATALOGUE: tuple[Film, ...] = (
    ("Two Uncles", "Deux oncles", 9, 0),
    ("By Bicycle", "À vélo", 8, 1),
    ("The Wig", "La perruque", 10, 1),
    ("My Goat", "Ma chèvre", 9, 2),
    ("Wrong Train", "Mauvais train", 7, 2),
    ("A Letter", "Une lettre", 4, 1),
    ("Long Rain", "Longue pluie", 2, 2),
    ("Night Ferry", "Bac de nuit", 4, 6),
    ("Downstairs", "En bas", 3, 8),
    ("The Cellar", "La cave", 1, 9),
    ("No Door", "Sans porte", 0, 10),
)
"""A made-up public catalogue: the title in English and in French, laughs and chills out of ten."""
LOVED = (12, 9, 6, 8, 4, 0, 0, 0, 0, 0, 1)
"""A made-up club of forty: how many love each film best. One of them alone loves the last."""
ALONE = 10
DRAWS = 5000


def distance(one: int, other: int) -> int:
    """Laughs apart plus chills apart."""
    (_, _, laughs, chills), (_, _, merry, eerie) = CATALOGUE[one], CATALOGUE[other]
    return abs(laughs - merry) + abs(chills - eerie)


PLACES = range(len(CATALOGUE))
DIAMETER = max(distance(one, other) for one in PLACES for other in PLACES)
"""The two films that are least alike: public, as the catalogue is."""


def nearest(loved: Sequence[int]) -> tuple[int, ...]:
    """The note's measure: for each film of the catalogue, how far the nearest loved one is; nobody's is the farthest."""
    present = [film for film in PLACES if loved[film]]
    return tuple(min((distance(film, each) for each in present), default=DIAMETER) for film in PLACES)


def together(loved: Sequence[int]) -> tuple[int, ...]:
    """For each film, how far it is from everybody's favourite, added up."""
    return tuple(sum(loved[each] * distance(film, each) for each in PLACES) for film in PLACES)


def without(loved: Sequence[int], film: int) -> tuple[int, ...]:
    """The club, when one of those who love this film best leaves."""
    return tuple(count - (place == film) for place, count in enumerate(loved))


def moved(one: Sequence[int], other: Sequence[int]) -> int:
    """The note's M_u: how far the measure moves between these two clubs."""
    return max(abs(a - b) for a, b in zip(nearest(one), nearest(other), strict=True))


def minus(values: Sequence[int]) -> tuple[int, ...]:
    return tuple(-value for value in values)


def by_nearest(epsilon: Fraction, reach: int = DIAMETER) -> Exponential:
    """The choice by the nearest favourite: one person may move it by `reach`, either way for different films."""
    from sfumato.mechanisms import Exponential

    return Exponential.calibrate(candidates=len(CATALOGUE), epsilon=epsilon, sensitivity=reach)


def by_sum(epsilon: Fraction) -> Exponential:
    """The choice by the sum: whoever comes adds a distance to every film, and takes none away."""
    from sfumato.mechanisms import Exponential

    return Exponential.calibrate(candidates=len(CATALOGUE), epsilon=epsilon, sensitivity=DIAMETER, monotone=True)


def worst(mechanism: Exponential, one: Sequence[int], other: Sequence[int]) -> float:
    """The loss between two clubs: the largest logarithm of a ratio of the exact probabilities."""
    laws = (chances(mechanism, minus(nearest(club))) for club in (one, other))
    return max(abs(math.log(p / q)) for p, q in zip(*laws, strict=True))


def expected(law: Sequence[float]) -> float:
    """How far the recommended film is from a member's favourite, on average over both."""
    return sum(p * far for p, far in zip(law, together(LOVED), strict=True)) / sum(LOVED)


def tell(terms: Terms) -> Told:
    """The printed sign, the sign turned, the distances added up; then a sensitivity that was read off one pair."""
    say, number, percent = terms.say, terms.number, terms.percent
    titles = [say(en=english, fr=french) for english, french, _, _ in CATALOGUE]
    far, added = nearest(LOVED), together(LOVED)
    best = min(PLACES, key=lambda film: added[film])
    worse = max(PLACES, key=lambda film: added[film])

    def laws(epsilon: Fraction) -> tuple[tuple[float, ...], ...]:
        """As printed, with the sign turned, and by the sum."""
        near = by_nearest(epsilon)
        return chances(near, far), chances(near, minus(far)), chances(by_sum(epsilon), minus(added))

    def draw(epsilon: Fraction) -> Picture:
        near, whole = by_nearest(epsilon), by_sum(epsilon)
        found = [
            among([titles[film] for film in mechanism.repeat(scores, DRAWS, terms.source)], titles)
            for mechanism, scores in ((near, far), (near, minus(far)), (whole, minus(added)))
        ]
        law, price = laws(epsilon)[2], number(epsilon)
        return Picture(
            title=say(en=f"The film recommended, ε = {price}", fr=f"Le film recommandé, ε = {price}"),
            told=say(
                en="From the club's taste on the left to its opposite on the right. By minus the sum of distances, "
                f"“{titles[best]}” comes out in {percent(law[best])} of the draws and “{titles[worse]}” in "
                f"{percent(law[worse])}; by the nearest favourite, with either sign, the draws are much flatter.",
                fr="Du goût du club, à gauche, à son contraire, à droite. Par moins la somme des distances, "
                f"« {titles[best]} » sort dans {percent(law[best])} des tirages et « {titles[worse]} » dans "
                f"{percent(law[worse])} ; par le favori le plus proche, quel que soit le signe, les tirages sont bien "
                "plus plats.",
            ),
            x=Axis(say(en="film", fr="film"), scale="names"),
            y=Axis(say(en="share of draws", fr="part des tirages"), domain=(0, 1), percent=True),
            series=(
                Series(
                    say(en="minus the sum, formula", fr="moins la somme, formule"),
                    tuple(Point(title, chance) for title, chance in zip(titles, law, strict=True)),
                    "bars",
                    exact=True,
                ),
                Series(say(en="minus the sum", fr="moins la somme"), found[2]),
                Series(say(en="minus the nearest", fr="moins la plus proche"), found[1]),
                Series(say(en="as printed", fr="comme imprimé"), found[0]),
            ),
            bars=say(
                en=f"Bars: 95 % intervals of a share among {number(DRAWS)} draws.",
                fr=f"Barres : intervalles à 95 % d'une part sur {number(DRAWS)} tirages.",
            ),
        )

    chart = terms.slides(draw, at=("0.1", "0.5", "1", "2", "5"))
    epsilon, price = terms.epsilon, number(terms.epsilon)
    printed, turned, summed = laws(epsilon)
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (titles[film], LOVED[film], far[film], added[film], printed[film], turned[film], summed[film])
        for film in PLACES
    )
    missed = without(LOVED, ALONE)
    pairs = {film: moved(LOVED, without(LOVED, film)) for film in PLACES if LOVED[film]}
    none = sum(reach == 0 for reach in pairs.values())
    newcomer = tuple(count + (place == 5) for place, count in enumerate(LOVED))
    read_off = moved(LOVED, newcomer)
    lost = worst(by_nearest(epsilon, read_off), LOVED, missed)
    kept = worst(by_nearest(epsilon), LOVED, missed)
    there = turned[ALONE]
    strong = by_nearest(Fraction(2 * DIAMETER))
    steep = [expected(chances(strong, scores)) for scores in (far, minus(far))]
    tenfold = chances(by_sum(epsilon), [-10 * each for each in added])[best]
    return Told(
        says=(
            say(
                en="The exponential mechanism chooses one of several outputs with a probability that grows with its "
                "utility. A database of films; u(D, r) is the distance from r to the nearest film of D, and “one "
                "looks for the films nearest to r”. M_u is the largest change of u between two neighbouring "
                "databases. For each film of the list of recommendations the note computes exp(ε u/(2 M_u)), "
                "normalises, and draws.",
                fr="Le mécanisme exponentiel choisit une sortie parmi plusieurs, avec une probabilité qui croît avec "
                "son utilité. Une base de films ; u(D, r) est la distance de r au film de D le plus proche, et « on "
                "cherche donc les films les plus proches de r ». M_u est le plus grand changement de u entre deux "
                "bases voisines. Pour chaque film des recommandations, la note calcule exp(ε u/(2 M_u)), normalise, "
                "et tire au hasard.",
            ),
        ),
        formulas=(
            Formula(
                r"u(D, r) = -\sum_{d \in D} \mathrm{dist}(d, r), \qquad "
                r"\Delta_u = \max_{r \in R} \max_{D \sim D'} |u(D, r) - u(D', r)|",
                "u(D, r) = −Σ_d dist(d, r),   Δ_u = max_{r ∈ R, D ∼ D′} |u(D, r) − u(D′, r)|",
            ),
            Formula(
                r"\Pr[M(D) = r] = \frac{e^{\varepsilon u(D, r) / \Delta_u}}"
                r"{\sum_{s \in R} e^{\varepsilon u(D, s) / \Delta_u}}",
                "P(M(D) = r) = e^{ε u(D, r) / Δ_u} / Σ_s e^{ε u(D, s) / Δ_u}",
            ),
        ),
        found=(
            say(
                en=f"A public catalogue of {len(CATALOGUE)} made-up films, with marks for laughs and chills: a "
                f"distance is at most {DIAMETER}. Forty people name their favourite; 39 love comedies, and one, "
                f"alone, loves “{titles[ALONE]}”. The distance to the nearest favourite cannot tell that one from the "
                f"39: both are at 0. One person can move it by {DIAMETER}, and forty people by no more than that, so "
                f"at ε = {price} the right sign names “{titles[best]}” with probability {number(turned[best])} and "
                f"“{titles[ALONE]}” just as often.",
                fr=f"Un catalogue public de {len(CATALOGUE)} films inventés, notés pour le rire et le frisson : une "
                f"distance vaut au plus {DIAMETER}. Quarante personnes disent leur favori ; 39 aiment des comédies, et "
                f"une seule aime « {titles[ALONE]} ». La distance au favori le plus proche ne distingue pas cette "
                f"personne des 39 autres : toutes sont à 0. Une personne peut la déplacer de {DIAMETER}, et quarante "
                f"pas davantage : à ε = {price}, le bon signe nomme « {titles[best]} » avec probabilité "
                f"{number(turned[best])}, et « {titles[ALONE]} » aussi souvent.",
            ),
            say(
                en=f"The sum of the distances counts everybody: one person still moves it by {DIAMETER} at most, but "
                "forty tastes add up. Whoever comes only adds distances, so that the 2 may go. Now "
                f"“{titles[best]}” has probability {number(summed[best])}. A film drawn is {number(expected(summed))} "
                f"away from a member's favourite on average; by minus the nearest {number(expected(turned))}, as "
                f"printed {number(expected(printed))}.",
                fr=f"La somme des distances compte tout le monde : une personne la déplace toujours de {DIAMETER} au "
                "plus, mais quarante goûts s'ajoutent. Qui arrive ne fait qu'ajouter des distances : le 2 peut "
                f"disparaître. Alors « {titles[best]} » a la probabilité {number(summed[best])}. Un film tiré est en "
                f"moyenne à {number(expected(summed))} du favori d'un membre ; par moins la plus proche, à "
                f"{number(expected(turned))} ; comme imprimé, à {number(expected(printed))}.",
            ),
        ),
        chart=chart,
        table=Table(
            (
                say(en="film", fr="film"),
                say(en="people", fr="personnes"),
                say(en="nearest", fr="plus proche"),
                say(en="sum", fr="somme"),
                say(en="P as printed", fr="P imprimée"),
                say(en="P, − nearest", fr="P, − plus proche"),
                say(en="P, − sum", fr="P, − somme"),
            ),
            rows,
            caption=say(
                en=f"Distances, and exact probabilities at ε = {price}",
                fr=f"Distances, et probabilités exactes à ε = {price}",
            ),
        ),
        question=say(
            en="The club grows to four hundred people with the same tastes. What becomes of the recommendation by the "
            "nearest favourite, and of that by the sum?",
            fr="Le club passe à quatre cents personnes de mêmes goûts. Que devient la recommandation par le favori le "
            "plus proche, et celle par la somme ?",
        ),
        answer=(
            say(
                en="The nearest favourite does not change at all, and neither does its law: however many people agree, "
                f"it stays as flat. The sum is ten times as large while one person's part stays {DIAMETER}: "
                f"“{titles[best]}” goes from {number(summed[best])} to {number(tenfold)}.",
                fr="Le favori le plus proche ne change pas, et sa loi non plus : quel que soit le nombre de gens "
                "d'accord, elle reste aussi plate. La somme est dix fois plus grande, alors que la part d'une personne "
                f"reste {DIAMETER} : « {titles[best]} » passe de {number(summed[best])} à {number(tenfold)}.",
            ),
        ),
        remark=(
            say(
                en="The sign. With u a distance and exp(+ε u/(2 M_u)) the farthest film is the likeliest, not the "
                f"nearest. At ε = {price} and the true M_u this is veiled by noise; as ε grows it is all that is left: "
                f"at ε = {number(2 * DIAMETER)} the film drawn is {number(steep[0])} away from a member's favourite on "
                f"average as printed, and {number(steep[1])} with the sign turned. The utility is minus the distance.",
                fr="Le signe. Avec une distance pour u et exp(+ε u/(2 M_u)), le film le plus éloigné est le plus "
                f"probable, non le plus proche. À ε = {price} et au vrai M_u, le bruit le voile ; quand ε croît, il ne "
                f"reste que cela : à ε = {number(2 * DIAMETER)}, le film tiré est en moyenne à {number(steep[0])} du "
                f"favori d'un membre comme imprimé, et à {number(steep[1])} avec le signe retourné. L'utilité est "
                "moins la distance.",
            ),
            say(
                en="M_u is written for two databases D and D′. Read off one pair, it protects nobody else: here "
                f"{none} of the {len(pairs)} kinds of departure leave u where it is, so M_u = 0, by which nothing can "
                f"be divided; somebody who comes for “{titles[5]}” gives M_u = {read_off}. Noise for {read_off}, and "
                f"then the one who loves “{titles[ALONE]}” leaves: a probability is multiplied by exp({number(lost)}) "
                f"or divided, not by exp({price}) at most. The largest over all neighbours and all films is the "
                f"diameter, {DIAMETER}; with it the same departure multiplies or divides by exp({number(kept)}).",
                fr="M_u est écrit pour deux bases D et D′. Lu sur une seule paire, il ne protège personne d'autre : "
                f"ici, {none} des {len(pairs)} sortes de départ laissent u en place, donc M_u = 0, par quoi l'on ne "
                f"peut diviser ; une arrivée pour « {titles[5]} » donne M_u = {read_off}. On met le bruit pour "
                f"{read_off}, puis la personne qui aime « {titles[ALONE]} » s'en va : une probabilité est multipliée "
                f"ou divisée par exp({number(lost)}), non par exp({price}) au plus. Le plus grand changement sur "
                f"toutes les bases voisines et tous les films est le diamètre, {DIAMETER} ; avec lui, le même départ "
                f"multiplie ou divise par exp({number(kept)}).",
            ),
            say(
                en="And the list of recommendations must not come from D. Were only films of D candidates, "
                f"“{titles[ALONE]}” could come out while its one admirer is a member, and never after: an infinite "
                f"ratio. On the public list it has probability {number(there)} and stays on it.",
                fr="Et la liste des recommandations ne doit pas venir de D. Si seuls les films de D étaient candidats, "
                f"« {titles[ALONE]} » pourrait sortir tant que son seul amateur est membre, et jamais après : un "
                f"rapport infini. Sur la liste publique, il a la probabilité {number(there)}, et il y reste.",
            ),
        ),
    )


LESSON = Lesson(
    name="films",
    note="000",
    section=Words("The exponential mechanism", "Mécanisme exponentiel"),
    title=Words("A film for the club", "Un film pour le club"),
    minutes=25,
    tell=tell,
    needs=("exponentiel",),
    epsilon="2",
)
