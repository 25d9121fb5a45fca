"""Coins that answer: shares and their variance from answers that nobody can be held to. Notes 001 and 000."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from sfumato.lessons.lesson import Lesson, Terms, Told, Words
from sfumato.show.picture import Axis, Picture, Point, Series
from sfumato.show.sheet import Around, Cell, Formula, Table

if TYPE_CHECKING:
    from sfumato.mechanisms import RandomizedResponse
    from sfumato.noise import Source

PEOPLE = 1000
TIMES = 500
TENTHS = range(11)
SHARES = (Fraction(1, 20), Fraction(1, 5), Fraction(1, 2))
SMALL = 100
AGES = (0, 20, 40, 65, 120)
"""Public edges of the ranged question."""
NORMAL = 1.96
"""Normal quantile of a 95 % bar."""


def product(epsilon: Fraction) -> RandomizedResponse:
    """The truth as often as epsilon allows, for yes and no."""
    from sfumato.mechanisms import RandomizedResponse

    return RandomizedResponse.calibrate(epsilon=epsilon)


def truths(share: Fraction, source: Source, *shape: int) -> Any:
    """People drawn from a large population in which this share would say yes."""
    import numpy as np

    from sfumato.noise import uniform_below

    drawn = np.asarray(uniform_below(share.denominator, math.prod(shape), source=source))
    return (drawn < share.numerator).astype(np.int64).reshape(shape)


def estimates(mechanism: RandomizedResponse, share: Fraction, people: int, source: Source, times: int = TIMES) -> Any:
    """The estimated share in each of many surveys."""
    import numpy as np

    reports = mechanism.sample(truths(share, source, times, people), source)
    gap = mechanism.truth - mechanism.other
    # `estimate` for one survey after the other, written for all at once; a test compares them.
    return (np.asarray(reports).mean(axis=1) - float(mechanism.other)) / float(gap)


def formula(mechanism: RandomizedResponse, share: float, people: int) -> float:
    """The variance of one estimate, as the product states it."""
    import numpy as np

    return float(mechanism.variance(np.array(share), people))


def ages(source: Source, people: int) -> Any:
    """Made-up ages from 18 to 97, most of them young: the smaller of two draws."""
    import numpy as np

    from sfumato.noise import uniform_below

    return 18 + np.asarray(uniform_below(80, (2, people), source=source)).min(axis=0)


def spread(values: Any) -> Around:
    """A measured variance, and its 95 % bar: the variance of a variance of nearly normal values is 2 v^2 / (n - 1)."""
    found = float(values.var(ddof=1))
    return Around(found, NORMAL * found * math.sqrt(2 / (len(values) - 1)))


def tell(terms: Terms) -> Told:
    """Estimates against truths, variances against the formula, then ages by ranges."""
    import numpy as np

    from sfumato.mechanisms import RandomizedResponse, RangedResponse

    say, number = terms.say, terms.number

    def draw(epsilon: Fraction) -> Picture:
        mechanism, price = product(epsilon), number(epsilon)
        points = []
        for tenth in TENTHS:
            found = mechanism.estimate(
                mechanism.sample(truths(Fraction(tenth, 10), terms.source, PEOPLE), terms.source)
            )
            value, half = float(found.values[1]), NORMAL * float(found.standard_errors[1])
            points.append(Point(tenth / 10, value, value - half, value + half))
        reach = NORMAL * math.sqrt(formula(mechanism, 0.5, PEOPLE))
        return Picture(
            title=say(
                en=f"The share of yes, estimated from {number(PEOPLE)} answers, ε = {price}",
                fr=f"La part des oui, estimée sur {number(PEOPLE)} réponses, ε = {price}",
            ),
            told=say(
                en=f"The truth is told with probability {number(mechanism.truth)}; the estimates follow the true "
                f"share, within about {number(reach, 2)}.",
                fr=f"La vérité est dite avec probabilité {number(mechanism.truth)} ; les estimations suivent la vraie "
                f"part, à environ {number(reach, 2)} près.",
            ),
            x=Axis(say(en="true share of yes", fr="vraie part des oui"), domain=(0, 1), percent=True),
            y=Axis(say(en="estimated share", fr="part estimée"), domain=(-1, 2), percent=True),
            series=(
                Series(say(en="estimates", fr="estimations"), tuple(points)),
                Series(
                    say(en="the truth", fr="la vérité"),
                    tuple(Point(t / 10, t / 10) for t in TENTHS),
                    "line",
                    exact=True,
                ),
            ),
            bars=say(
                en="Bars: 95 % intervals from the estimate's own standard error.",
                fr="Barres : intervalles à 95 % tirés de l'erreur type de l'estimation elle-même.",
            ),
        )

    chart = terms.slides(draw, at=("0.1", "0.5", "1", "2", "4"))
    epsilon, price = terms.epsilon, number(terms.epsilon)
    mechanism = product(epsilon)
    rows: list[tuple[Cell, ...]] = []
    for part in SHARES:
        found = estimates(mechanism, part, PEOPLE, terms.source)
        rows.append(
            (
                float(part),
                Around(float(found.mean()), NORMAL * float(found.std(ddof=1)) / math.sqrt(TIMES)),
                float(part * (1 - part)) / PEOPLE,
                formula(mechanism, float(part), PEOPLE),
                spread(found),
            )
        )
    coins = RandomizedResponse(truth="3/4")
    cost = coins.loss().pure()
    ten = (mechanism.loss(10)).pure()
    assert cost is not None
    assert ten is not None
    small = estimates(mechanism, Fraction(1, 5), SMALL, terms.source)
    within = small * (1 - small)
    inside = Around(float(within.mean()), NORMAL * float(within.std(ddof=1)) / math.sqrt(TIMES))
    ranged = RangedResponse.calibrate(epsilon=epsilon, edges=AGES)
    people = ages(terms.source, 20 * PEOPLE)
    mean = ranged.estimate(ranged.sample(people, terms.source))
    half = NORMAL * mean.standard_error
    bins = ", ".join(f"[{low}, {high}[" for low, high in pairwise(AGES))
    middle = float(ranged.midpoints[np.digitize(people, AGES[1:-1])].mean())
    ten_truths = sum(right(10, wins, float(mechanism.truth)) for wins in range(11))
    return Told(
        says=(
            say(
                en="Note 001 opens its mechanisms with randomised response, “flip a coin”, and stops there. Note 000: "
                "real answers are replaced by random ones; whoever knows the probability of that can find the share "
                "of real ones, and the variance within the data. It adds that numbers could be done by considering "
                "ranges of values, the probability that a value lies in one, and its expectation.",
                fr="La note 001 ouvre ses mécanismes sur la réponse aléatoire, « flip a coin », et s'arrête là. La "
                "note 000 : on remplace des données réelles par des données aléatoires ; qui en connaît la probabilité "
                "peut déterminer la proportion des données réelles et la variance au sein des données. Elle ajoute "
                "qu'on pourrait traiter des nombres par des plages de valeurs, avec la probabilité et l'espérance "
                "qu'une valeur appartienne à une plage.",
            ),
        ),
        formulas=(
            Formula(
                r"\Pr[\text{truth}] = t = \frac{e^{\varepsilon}}{1 + e^{\varepsilon}}"
                if terms.lang == "en"
                else r"\Pr[\text{vérité}] = t = \frac{e^{\varepsilon}}{1 + e^{\varepsilon}}",
                say(en="P(truth) = t = e^ε / (1 + e^ε)", fr="P(vérité) = t = e^ε / (1 + e^ε)"),
            ),
            Formula(
                r"\hat p = \frac{\bar y - (1 - t)}{2t - 1}, \qquad \mathrm{Var}(\hat p) = "
                r"\frac{m(1 - m)}{n (2t - 1)^2}, \quad m = 1 - t + p(2t - 1)",
                "p̂ = (ȳ − (1 − t)) / (2t − 1),   Var(p̂) = m(1 − m) / (n(2t − 1)^2),   m = 1 − t + p(2t − 1)",
            ),
        ),
        found=(
            say(
                en="Flip a coin. Heads: tell the truth. Tails: flip another, and say yes for heads, no for tails. The "
                f"truth comes out with probability 3/4, and the product's price for it is ε = {number(cost[0], 4)}, the "
                f"logarithm of 3. At ε = {price} it is told with probability {number(mechanism.truth)}. The table "
                f"repeats a survey of {number(PEOPLE)} people {number(TIMES)} times: the estimate is unbiased, and its "
                "variance is the formula's, far above that of a survey that asks openly.",
                fr="Lancez une pièce. Face : dites la vérité. Pile : lancez-en une autre, et dites oui pour face, non "
                "pour pile. La vérité sort avec probabilité 3/4, et le prix en est, selon le produit, ε = "
                f"{number(cost[0], 4)}, le logarithme de 3. À ε = {price}, elle est dite avec probabilité "
                f"{number(mechanism.truth)}. Le tableau répète {number(TIMES)} fois un sondage de {number(PEOPLE)} "
                "personnes : l'estimation est sans biais et sa variance est celle de la formule, bien au-dessus de "
                "celle d'un sondage qui demande ouvertement.",
            ),
            say(
                en=f"Ages by ranges: everybody names one of the public ranges {bins}, the true one with probability "
                f"{number(ranged.truth)} at ε = {price}. From {number(len(people))} such answers the product estimates "
                f"a mean age of {number(mean.value)} ± {number(half, 2)} (95 %, noise); each age counts as the middle "
                f"of its range, which may be off by {number(mean.bias)} years at most. The true mean is "
                f"{number(float(people.mean()))}.",
                fr=f"Les âges par plages : chacun nomme une des plages publiques {bins}, la vraie avec probabilité "
                f"{number(ranged.truth)} à ε = {price}. De {number(len(people))} réponses de ce genre, le produit "
                f"estime un âge moyen de {number(mean.value)} ± {number(half, 2)} (95 %, bruit) ; chaque âge compte "
                f"pour le milieu de sa plage, ce qui peut décaler de {number(mean.bias)} ans au plus. La vraie moyenne "
                f"est {number(float(people.mean()))}.",
            ),
        ),
        chart=chart,
        table=Table(
            (
                say(en="true p", fr="vrai p"),
                say(en="mean of p̂", fr="moyenne de p̂"),
                say(en="Var, asked openly", fr="Var, question ouverte"),
                say(en="Var, formula", fr="Var, formule"),
                say(en="Var, measured", fr="Var, mesurée"),
            ),
            tuple(rows),
            caption=say(
                en=f"{number(TIMES)} surveys of {number(PEOPLE)} people, ε = {price}; ± 95 %",
                fr=f"{number(TIMES)} sondages de {number(PEOPLE)} personnes, ε = {price} ; ± 95 %",
            ),
        ),
        question=say(
            en="To be sure, the interviewer asks each person the same question ten times, with fresh coins. What is it "
            "worth, and what does it cost?",
            fr="Pour être sûr, l'enquêteur pose dix fois la même question à chacun, avec de nouvelles pièces. Qu'y "
            "gagne-t-on, et qu'est-ce que cela coûte ?",
        ),
        answer=(
            say(
                en=f"The coins' part of the variance is divided by ten, and everybody's loss is {number(ten[0])} in "
                f"place of {price}: the majority of ten answers is the truth with probability {number(ten_truths)}. A "
                "better use of the same price: ask once, with a higher probability of the truth. Or draw the coin "
                "once, keep it, and repeat the same answer.",
                fr="La part des pièces dans la variance est divisée par dix, et la perte de chacun vaut "
                f"{number(ten[0])} au lieu de {price} : la majorité de dix réponses est la vérité avec probabilité "
                f"{number(ten_truths)}. Meilleur usage du même prix : demander une fois, avec une plus grande "
                "probabilité de vérité. Ou tirer la pièce une fois, la garder, et répéter la même réponse.",
            ),
        ),
        remark=(
            say(
                en="Note 001 stops at the first coin. A first coin alone, heads for the truth, tails for silence, "
                "hides nothing: whoever speaks says the truth. It takes the second coin; then ε = ln 3, which the note "
                "does not say.",
                fr="La note 001 s'arrête à la première pièce. Une première pièce seule, face pour la vérité, pile pour "
                "le silence, ne cache rien : qui parle dit la vérité. Il faut la seconde pièce ; alors ε = ln 3, ce "
                "que la note ne dit pas.",
            ),
            say(
                en="Note 000 promises the variance within the data too. For yes and no it is p(1 − p), and p̂(1 − "
                f"p̂) is short of it by the variance of p̂. Measured on {number(TIMES)} surveys of {SMALL} people "
                f"with p = 0.2 at ε = {price}: {spelt(terms, inside)} on average, where 0.16 is true. Add the "
                f"formula's variance, {number(formula(mechanism, 0.2, SMALL))}, and the bias is gone: "
                f"{number(inside.value + formula(mechanism, 0.2, SMALL))}.",
                fr="La note 000 promet aussi la variance au sein des données. Pour oui et non, c'est p(1 − p), et "
                f"p̂(1 − p̂) est trop petit de la variance de p̂. Mesuré sur {number(TIMES)} sondages de {SMALL} "
                f"personnes, p = 0,2 et ε = {price} : {spelt(terms, inside)} en moyenne, pour une vraie valeur de "
                f"0,16. Ajoutez la variance de la formule, {number(formula(mechanism, 0.2, SMALL))}, et le "
                f"biais disparaît : {number(inside.value + formula(mechanism, 0.2, SMALL))}.",
            ),
            say(
                en="By ranges there is a price that the note leaves out: an age is taken for the middle of its range. "
                f"Without any noise the mean would already be {number(middle)} instead of "
                f"{number(float(people.mean()))}, and more answers do not help. More ranges do, and cost accuracy. "
                "The edges are public, fixed before anybody answers.",
                fr="Par plages, il y a un prix que la note ne dit pas : un âge est pris pour le milieu de sa plage. "
                f"Sans aucun bruit, la moyenne serait déjà {number(middle)} au lieu de "
                f"{number(float(people.mean()))}, et davantage de réponses n'y changent rien. Davantage de plages, "
                "oui, au prix de la précision. Les bornes sont publiques, fixées avant toute réponse.",
            ),
        ),
    )


def right(votes: int, wins: int, truth: float) -> float:
    """The probability of this many true answers, counted if they are the majority, and half at a tie."""
    weight = 1.0 if 2 * wins > votes else 0.5 if 2 * wins == votes else 0.0
    return weight * math.comb(votes, wins) * truth**wins * (1 - truth) ** (votes - wins)


def spelt(terms: Terms, measured: Around) -> str:
    """A measured number in a sentence."""
    return f"{terms.number(measured.value)} ± {terms.number(measured.within, 2)}"


LESSON = Lesson(
    name="reponse-aleatoire",
    note="001",
    section=Words("Randomized response (and note 000)", "Randomized Response (et note 000)"),
    title=Words("Coins that answer", "Des pièces qui répondent"),
    minutes=25,
    tell=tell,
    epsilon="1",
)
