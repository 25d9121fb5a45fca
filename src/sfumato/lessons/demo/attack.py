"""Scene 1. Two exact means give a salary away; the same subtraction on private answers gives nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lessons.demo.scene import Scene
from sfumato.lessons.frequency import share, shares
from sfumato.lessons.lesson import Words
from sfumato.lessons.mallory import EDGES, JANUARY, MALLORY, attack, deduced, month
from sfumato.show.picture import Axis, Picture, Point, Series, Slides
from sfumato.show.sheet import Paragraph

if TYPE_CHECKING:
    from sfumato.lessons.demo.stage import Stage

TITLE = Words("The attack", "L'attaque")


def act(stage: Stage) -> Scene:
    """January, February, and a subtraction: exactly, then a thousand times on private answers."""
    terms = stage.terms
    say, number = terms.say, terms.number
    january, february = month(JANUARY, terms.epsilon), month([*JANUARY, MALLORY], terms.epsilon)
    exact = deduced(january.true(), february.true()) or 0
    guesses = sorted(attack(january, february, terms))
    low, high = guesses[len(guesses) // 40], guesses[-1 - len(guesses) // 40]
    near = share(sum(abs(guess - MALLORY) <= MALLORY / 10 for guess in guesses), len(guesses))
    title = say(en="Mallory's salary by subtraction", fr="Le salaire de Mallory par différence")
    picture = Picture(
        title=title,
        told=say(
            en=f"95 % of {number(len(guesses))} subtractions of private answers lie between {number(round(low))} and "
            f"{number(round(high))}.",
            fr=f"95 % de {number(len(guesses))} différences de réponses privées sont entre {number(round(low))} et "
            f"{number(round(high))}.",
        ),
        x=Axis(say(en="salary deduced ($)", fr="salaire déduit ($)"), domain=(EDGES[0], EDGES[-1])),
        y=Axis(say(en="share of replays", fr="part des rejeux"), percent=True),
        series=(
            Series(say(en="private answers", fr="réponses privées"), shares(guesses, EDGES), "steps"),
            Series(say(en="exact answers", fr="réponses exactes"), (Point(MALLORY, 0),), "rule"),
        ),
        bars=say(
            en=f"The band is the 95 % interval of a share among {number(len(guesses))} replays.",
            fr=f"La bande est l'intervalle à 95 % d'une part parmi {number(len(guesses))} rejeux.",
        ),
    )
    return Scene(
        stage.title(TITLE),
        (
            Paragraph(
                say(
                    en="January: 100 people, mean salary 55 000. February: 101 people, mean 56 000; Mallory came. "
                    "From exact answers anyone computes her salary: 101 × 56 000 − 100 × 55 000 = "
                    f"{number(round(exact))}.",
                    fr="Janvier : 100 personnes, salaire moyen 55 000. Février : 101 personnes, moyenne 56 000 ; "
                    "Mallory est arrivée. Avec des réponses exactes, chacun calcule son salaire : 101 × 56 000 − 100 "
                    f"× 55 000 = {number(round(exact))}.",
                )
            ),
            Paragraph(
                say(
                    en=f"The same subtraction on private answers (ε = 1 a month), replayed {number(len(guesses))} "
                    f"times: 95 % of the results lie between {number(round(low))} and {number(round(high))}, over "
                    f"{number(round(high - low))} apart, and {terms.percent(near[0])} come within a tenth of the "
                    f"truth (95 %: {terms.percent(near[1])} to {terms.percent(near[2])}).",
                    fr=f"La même différence sur des réponses privées (ε = 1 par mois), rejouée {number(len(guesses))} "
                    f"fois : 95 % des résultats sont entre {number(round(low))} et {number(round(high))}, à plus de "
                    f"{number(round(high - low))} l'un de l'autre, et {terms.percent(near[0])} tombent à moins d'un "
                    f"dixième du vrai (95 % : de {terms.percent(near[1])} à {terms.percent(near[2])}).",
                )
            ),
            Slides.one(picture),
        ),
    )
