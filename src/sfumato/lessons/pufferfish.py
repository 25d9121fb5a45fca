"""Rows that know one another: noise for secrets under beliefs. Note 000, Pufferfish and mixtures of normal laws."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.lessons.lesson import Lesson, Terms, Told, Words
from sfumato.show.picture import Axis, Picture, Point, Series, Slides
from sfumato.show.sheet import Formula, Table

if TYPE_CHECKING:
    from sfumato.mechanisms import PufferfishLaplace
    from sfumato.mechanisms.pufferfish.belief import Mixture
    from sfumato.mechanisms.pufferfish.framework import Framework
    from sfumato.noise import Source

AWAY, HOME = "Ana is away", "Ana is at home"
FLATS = 4
TOGETHER = tuple(Fraction(tenths, 10) for tenths in (0, 2, 4, 6, 8, 10))
"""The chances that the others do as Ana does."""
SHOWN = Fraction(4, 5)
DRAWS = 20_000
MISS = 0.0125
"""Each end of the two shares in a ratio: 95 % of all four together."""


def survey(leave_out: int = 0) -> list[float]:
    """What 1000 flats used last year, in hundreds of watt hours: 300 empty ones around 8, 700 others around 20. Made up."""
    from statistics import NormalDist

    empty, lived_in = NormalDist(8, 2), NormalDist(20, 4)
    rows = [empty.inv_cdf((i + 0.5) / 300) for i in range(300)] + [
        lived_in.inv_cdf((i + 0.5) / 700) for i in range(700)
    ]
    return rows[: len(rows) - leave_out]


def fitted(rows: list[float]) -> Mixture:
    """Two components, the emptier one first."""
    from sfumato.mechanisms.pufferfish.fit import fit_mixture

    return fit_mixture(rows, components=2)


def building(flat: Mixture, together: Fraction) -> Framework:
    """What the flats use in all, given Ana's secret: each other flat does as hers with this chance, else as in the survey.

    Given how many flats are lived in, the sum is normal; how many there are is binomial. So the sum is a mixture again.
    """
    from sfumato.mechanisms.pufferfish.belief import Belief, Mixture
    from sfumato.mechanisms.pufferfish.framework import Framework

    given = {}
    for own, secret in enumerate((AWAY, HOME)):
        chance = together * own + (1 - together) * flat.chances[1]
        parts = []
        for others in range(FLATS):
            lived_in = others + own
            weights = (FLATS - lived_in, lived_in)
            variance = sum(count * each**2 for count, each in zip(weights, flat.deviations, strict=True))
            parts.append(
                (
                    math.comb(FLATS - 1, others) * chance**others * (1 - chance) ** (FLATS - 1 - others),
                    sum((count * each for count, each in zip(weights, flat.means, strict=True)), Fraction(0)),
                    Fraction(math.sqrt(variance)),
                )
            )
        given[secret] = Mixture.of(parts)
    return Framework.of("building", [(AWAY, HOME)], [Belief.of(f"together {together}", given)])


def enough(framework: Framework, epsilon: Fraction) -> PufferfishLaplace:
    """The least noise for this framework."""
    from sfumato.mechanisms import PufferfishLaplace

    return PufferfishLaplace.calibrate(framework=framework, epsilon=epsilon)


def under(noise: PufferfishLaplace, framework: Framework) -> PufferfishLaplace:
    """The same noise, looked at under other beliefs."""
    from sfumato.mechanisms import PufferfishLaplace

    return PufferfishLaplace(framework, scale=noise.scale, grain=noise.grain)


def told_apart(noise: PufferfishLaplace, low: float, source: Source) -> tuple[float, float, float]:
    """ln of how much likelier an output of at most `low` is when Ana is away than when she is not, drawn, and its 95 % bar."""
    from sfumato.audit.confidence import clopper_pearson
    from sfumato.mechanisms.pufferfish.laplace import Given

    belief = noise.framework.beliefs[0].name
    hits = [
        sum(output <= low for output in noise.repeat(Given(belief, secret), DRAWS, source)) for secret in (AWAY, HOME)
    ]
    away, home = (clopper_pearson(each, DRAWS, miss=MISS) for each in hits)
    # One more of each keeps the middle finite where nobody was that low; it stays between the ends.
    middle = math.log((hits[0] + 1) / (hits[1] + 1))
    return middle, min(middle, math.log(max(away[0], 1e-9) / home[1])), math.log(away[1] / max(home[0], 1e-9))


def counterexample() -> Framework:
    """One part in a hundred moves by 30; on average, mass moves by 0.3."""
    from sfumato.mechanisms.pufferfish.belief import Belief, Mixture
    from sfumato.mechanisms.pufferfish.framework import Framework

    still, moved = [("0.99", 0, 1), ("0.01", 0, 1)], [("0.99", 0, 1), ("0.01", 30, 1)]
    given = {"still": Mixture.of(still), "moved": Mixture.of(moved)}
    return Framework.of("far", [("still", "moved")], [Belief.of("one in a hundred", given)])


def averaged(epsilon: Fraction) -> PufferfishLaplace:
    """Noise priced on the average move of the components."""
    from sfumato.mechanisms import PufferfishLaplace

    return PufferfishLaplace(counterexample(), scale=Fraction(3, 10) / epsilon, grain=Fraction(1, 16))


def tell(terms: Terms) -> Told:
    """What noise for one row keeps when rows go together; noise that is enough; the average move, which is not."""
    say, number = terms.say, terms.number
    epsilon, flat = terms.epsilon, fitted(survey())
    price = number(epsilon)
    alone = enough(building(flat, Fraction(0)), epsilon)
    low = float(FLATS * flat.means[0])
    computed: list[Point] = []
    kept: list[Point] = []
    drawn: list[Point] = []
    checked: list[Point] = []
    scales: dict[Fraction, float] = {}
    for together in TOGETHER:
        framework, place = building(flat, together), float(together)
        naive, noise = under(alone, framework), enough(framework, epsilon)
        scales[together] = float(noise.scale)
        computed.append(Point(place, naive.loss(1).epsilon()))
        kept.append(Point(place, noise.loss(1).epsilon()))
        drawn.append(Point(place, *told_apart(naive, low, terms.source)))
        checked.append(Point(place, *told_apart(noise, low, terms.source)))
    at = TOGETHER.index(SHOWN)
    broken = computed[at].y
    far = counterexample()
    wrong, right = averaged(epsilon), enough(far, epsilon)
    rows = tuple(
        (name, each.scale, each.loss(1).delta(float(epsilon)), each.loss(1).epsilon())
        for name, each in (
            (say(en="average move: 0.3/ε", fr="déplacement moyen : 0,3/ε"), wrong),
            (say(en="least that keeps ε", fr="le moindre qui tienne ε"), right),
        )
    )
    without = enough(building(fitted(survey(leave_out=1)), Fraction(0)), epsilon)
    negative = 1.5 * normal(3, 0) - 0.5 * normal(3, 3)
    means = [number(each) for each in flat.means]
    deviations = [number(each) for each in flat.deviations]
    share = terms.percent(float(flat.chances[0]))
    picture = Picture(
        title=say(en=f"What noise meant for ε = {price} keeps", fr=f"Ce que tient un bruit prévu pour ε = {price}"),
        told=say(
            en=f"Noise for one flat keeps ε = {number(computed[0].y)} when flats are independent, and "
            f"{number(computed[-1].y)} when they always go together. Noise calibrated on the belief stays at {price}.",
            fr=f"Le bruit prévu pour un logement tient ε = {number(computed[0].y)} si les logements sont "
            f"indépendants, et {number(computed[-1].y)} s'ils vont toujours ensemble. Le bruit calibré sur la "
            f"croyance reste à {price}.",
        ),
        x=Axis(say(en="chance of doing as Ana does", fr="chance de faire comme Ana"), domain=(0, 1), percent=True),
        y=Axis("ε"),
        series=(
            Series(
                say(en="noise for one flat: computed", fr="bruit pour un logement : calculé"),
                tuple(computed),
                "line",
                exact=True,
            ),
            Series(say(en="noise for one flat: drawn", fr="bruit pour un logement : tiré"), tuple(drawn)),
            Series(say(en="calibrated: computed", fr="calibré : calculé"), tuple(kept), "line", exact=True),
            Series(say(en="calibrated: drawn", fr="calibré : tiré"), tuple(checked)),
        ),
        bars=say(
            en=f"Drawn: how much likelier (ln) a low output is when Ana is away, {number(DRAWS)} draws of each; 95 % "
            "bars.",
            fr=f"Tiré : combien (ln) une sortie basse est plus probable quand Ana est absente, {number(DRAWS)} tirages "
            "de chaque ; barres à 95 %.",
        ),
    )
    return Told(
        says=(
            say(
                en="The note defines a mixture of normal laws and says that a Pufferfish algorithm is built on it. "
                "Pufferfish hides a secret rather than a row: two secrets must look alike under each of the beliefs "
                "that an adversary may hold about how the data arise.",
                fr="La note définit un mélange de lois normales et dit qu'un algorithme Pufferfish s'appuie dessus. "
                "Pufferfish cache un secret plutôt qu'une ligne : deux secrets doivent se ressembler sous chacune des "
                "croyances qu'un adversaire peut avoir sur la façon dont les données naissent.",
            ),
        ),
        formulas=(
            Formula(
                r"p(x) = \sum_{i=1}^{m} w_i \, N(x \mid \mu_i, \Sigma_i), \qquad w_i \geq 0, \quad \sum_i w_i = 1",
                "p(x) = Σ_i w_i N(x | μ_i, Σ_i),   w_i ≥ 0,   Σ_i w_i = 1",
            ),
            Formula(
                r"P(\mathcal M(X) \in O \mid s, \theta) \leq e^{\varepsilon} "
                r"\, P(\mathcal M(X) \in O \mid s', \theta) + \delta",
                "P(M(X) ∈ O | s, θ) ≤ e^ε P(M(X) ∈ O | s′, θ) + δ",
            ),
        ),
        found=(
            say(
                en=f"A public survey of 1 000 flats (made up) is fitted by two components: {share} of the flats use "
                f"{means[0]} ± {deviations[0]} hundred watt hours of an evening, the empty ones; the others "
                f"{means[1]} ± {deviations[1]}. The total of a building of {FLATS} flats is released; the secret is "
                "whether Ana is away. Each other flat does as hers does with some chance (they leave for the same "
                "holidays), else as in the survey.",
                fr=f"Une enquête publique sur 1 000 logements (inventée) est ajustée par deux composantes : {share} "
                f"des logements consomment {means[0]} ± {deviations[0]} centaines de wattheures en une soirée, les "
                f"vides ; les autres, {means[1]} ± {deviations[1]}. On publie le total d'un immeuble de {FLATS} "
                "logements ; le secret est l'absence d'Ana. Chaque autre logement fait comme le sien avec une "
                "certaine chance (les mêmes vacances), sinon comme dans l'enquête.",
            ),
            say(
                en=f"Independent flats need Laplace noise of scale {number(alone.scale)} for ε = {price}. With that "
                f"noise and a chance of {terms.percent(float(SHOWN))} of going together, ε is {number(broken)}: the "
                f"other flats tell of Ana. The product sums the law of the output under the belief and finds the scale "
                f"that is enough, {number(scales[SHOWN])}.",
                fr=f"Des logements indépendants demandent un bruit de Laplace d'échelle {number(alone.scale)} pour ε = "
                f"{price}. Avec ce bruit et une chance de {terms.percent(float(SHOWN))} d'aller ensemble, ε vaut "
                f"{number(broken)} : les autres logements parlent d'Ana. Le produit somme la loi de la sortie sous la "
                f"croyance et trouve l'échelle qui suffit, {number(scales[SHOWN])}.",
            ),
            say(
                en="The table is a counterexample to a shortcut of the literature, which prices noise on the average "
                "move between components. From N(0, 1) to 0.99 N(0, 1) + 0.01 N(30, 1), mass moves by 0.3 on average; "
                "but the hundredth that moves, moves by 30 and is seen.",
                fr="Le tableau est un contre-exemple à un raccourci de la littérature, qui règle le bruit sur le "
                "déplacement moyen entre composantes. De N(0, 1) à 0,99 N(0, 1) + 0,01 N(30, 1), la masse se déplace "
                "de 0,3 en moyenne ; mais le centième qui se déplace le fait de 30, et cela se voit.",
            ),
        ),
        chart=Slides.one(picture),
        table=Table(
            (
                say(en="noise", fr="bruit"),
                say(en="scale", fr="échelle"),
                say(en=f"δ at ε = {price}", fr=f"δ à ε = {price}"),
                say(en="ε at δ = 0", fr="ε à δ = 0"),
            ),
            rows,
            caption=say(en="The average move is no promise", fr="Le déplacement moyen n'est pas une promesse"),
        ),
        question=say(
            en="Two numbers are released, and each of them hides the secret. Does the pair hide it, at twice the "
            "price?",
            fr="Deux nombres sont publiés, et chacun cache le secret. Le couple le cache-t-il, pour le double du "
            "prix ?",
        ),
        answer=(
            say(
                en="Not in general. Let the secret be whether two fair coins fall alike: each coin alone is "
                "independent of it (ε = 0), and both together tell it. So these losses enter no budget: an account "
                "takes one release, and several numbers are released as one vector.",
                fr="Pas en général. Soit le secret « deux pièces équilibrées tombent du même côté » : chaque pièce "
                "seule en est indépendante (ε = 0), et les deux ensemble le disent. Ces pertes n'entrent donc dans "
                "aucun budget : un compte prend une seule publication, et plusieurs nombres se publient en un vecteur.",
            ),
        ),
        remark=(
            say(
                en="The note asks only that the weights sum to one; they must also be 0 or more: 1.5 N(0, 1) − 0.5 "
                f"N(3, 1) has “density” {number(negative)} at 3. Its capital epsilon is a covariance Σ_i, symmetric "
                "and positive. And it defines the mixture without the promise: nothing says which secrets, which "
                "beliefs, or how much noise.",
                fr="La note demande seulement que les poids aient pour somme un ; ils doivent aussi être positifs : "
                f"1,5 N(0, 1) − 0,5 N(3, 1) a en 3 une « densité » de {number(negative)}. Son epsilon majuscule est "
                "une covariance Σ_i, symétrique et positive. Et elle définit le mélange sans la promesse : rien ne "
                "dit quels secrets, quelles croyances, ni combien de bruit.",
            ),
            say(
                en="It speaks of “the data set” that the mixture describes. Fitted on the private rows, the noise "
                "tells of them: if the survey were private, without its last flat the scale would be "
                f"{number(without.scale, 6)} rather than {number(alone.scale, 6)}, and the scale is told. "
                "`fit_mixture` refuses sealed rows.",
                fr="Elle parle de « l'ensemble de données » que le mélange décrit. Ajusté sur les lignes privées, le "
                f"bruit les trahit : si l'enquête était privée, sans son dernier logement l'échelle serait "
                f"{number(without.scale, 6)} au lieu de {number(alone.scale, 6)}, et l'échelle est publiée. "
                "`fit_mixture` refuse les lignes scellées.",
            ),
        ),
    )


def normal(x: float, middle: float) -> float:
    """The density of N(middle, 1)."""
    return math.exp(-((x - middle) ** 2) / 2) / math.sqrt(2 * math.pi)


LESSON = Lesson(
    name="pufferfish",
    note="000",
    section=Words("Pufferfish", "Pufferfish"),
    title=Words("Rows that know one another", "Des lignes qui se connaissent"),
    minutes=40,
    tell=tell,
    needs=("bruit",),
)
