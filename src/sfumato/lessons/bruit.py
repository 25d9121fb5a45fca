"""Noise by inversion, as the note writes it and as it must be; and why floats give the data away. Note 000, additive noise."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import BadInput
from sfumato.lessons.frequency import share, shares
from sfumato.lessons.lesson import Lesson, Terms, Told, Words
from sfumato.show.picture import Axis, Picture, Point, Series, Slides
from sfumato.show.sheet import Formula, Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.noise import Source

    Reals = NDArray[np.float64]

DRAWS = 20_000
DELTA = "1e-5"
EDGES = [-4 + step / 4 for step in range(33)]
FINE = Fraction(1, 2**20)
NEAR = 12


def uniform(count: int, source: Source) -> Reals:
    """Numbers k / 2**53 with 0 < k < 2**53: what a float in ]0, 1[ can be."""
    from sfumato.noise import uniform_below

    return (uniform_below(2**53 - 1, count, source=source) + 1) / 2.0**53


def note_gauss(count: int, rho: float, source: Source) -> Reals:
    """The note's formula to the letter, with scipy's erfinv: x = rho erfinv(2u - 1)."""
    from scipy.special import erfinv

    drawn: Reals = rho * erfinv(2 * uniform(count, source) - 1)
    return drawn


def float_laplace(u: Reals) -> Reals:
    """The note's inverse of the Laplace law, in floats; the cases are split on u, as they must be."""
    import numpy as np

    below: Reals = np.where(u < 0.5, np.log(2 * u), -np.log(2 * (1 - u)))
    return below


def unreachable(count: int, source: Source) -> float:
    """The share of outputs 0 + noise that 1 + noise cannot be: seeing one of them tells which of the two it was.

    The float of u that gives an output is sought among the NEAR nearest to the exact solution on both sides.
    """
    import numpy as np

    outputs = 0.0 + float_laplace(uniform(count, source))
    noise = outputs - 1.0
    solution = np.where(noise < 0, np.exp(noise) / 2, 1 - np.exp(-noise) / 2)
    centre = np.rint(solution * 2.0**53)
    found = np.zeros(count, dtype=bool)
    for shift in range(-NEAR, NEAR + 1):
        u = np.clip(centre + shift, 1, 2.0**53 - 1) / 2.0**53
        found |= 1.0 + float_laplace(u) == outputs
    return float(1 - found.mean())


def on_lattice(count: int, source: Source) -> float:
    """The same share for the product's Laplace: its outputs are whole grains, and noise reaches all of them."""
    import numpy as np

    from sfumato.mechanisms import Laplace

    outputs = Laplace(scale=1, grain=FINE).release(np.zeros(count), 1, source=source).value
    grains = (outputs - 1.0) / float(FINE)
    return float(np.mean(grains != np.rint(grains)))


def tell(terms: Terms) -> Told:
    """Samples against densities, the promise kept or not, vectors, and the attack on floats."""
    from sfumato.accounting import Gdp, classical_gaussian_sigma
    from sfumato.mechanisms import Gaussian

    if terms.epsilon >= 1:
        raise BadInput("the note's Gaussian formula holds for an epsilon below 1", hint="give --epsilon 0.5, say")
    say, number, percent = terms.say, terms.number, terms.percent
    sigma = float(classical_gaussian_sigma(1, epsilon=terms.epsilon, delta=DELTA))
    theirs = note_gauss(DRAWS, sigma, terms.source)
    ours = Gaussian(sigma=Fraction(sigma), grain=FINE).repeat(0.0, DRAWS, terms.source)
    spread = float(theirs.std())
    actual = Gdp(Fraction(math.sqrt(2) / sigma))
    broken, epsilon_broken = actual.delta(float(terms.epsilon)), actual.epsilon(DELTA)
    kept = Gdp(Fraction(1 / sigma)).delta(float(terms.epsilon))
    told_by_floats = unreachable(DRAWS, terms.source)
    low, high = share(round(told_by_floats * DRAWS), DRAWS)[1:]
    told_by_lattice = on_lattice(DRAWS, terms.source)
    undefined = 1 - 2 * (0.5 * math.erf(10) * math.sqrt(math.pi) / 2)
    price = number(terms.epsilon)
    picture = Picture(
        title=say(en="Gaussian noise by inversion, in units of ρ", fr="Bruit gaussien par inversion, en unités de ρ"),
        told=say(
            en=f"The note's formula gives a bell of standard deviation {number(spread / sigma)} ρ, narrower and "
            "higher than the law it promises; the product's samples lie on that law.",
            fr=f"La formule de la note donne une cloche d'écart-type {number(spread / sigma)} ρ, plus étroite et plus "
            "haute que la loi promise ; les tirages du produit suivent cette loi.",
        ),
        x=Axis(say(en="noise / ρ", fr="bruit / ρ"), domain=(-4, 4)),
        y=Axis(say(en="density", fr="densité"), domain=(0, 0.62)),
        series=(
            Series(say(en="promised law", fr="loi promise"), density(), "line", exact=True),
            Series(
                say(en="the note's formula", fr="formule de la note"), shares(theirs / sigma, EDGES, per=0.25), "steps"
            ),
            Series(say(en="the product", fr="le produit"), shares([x / sigma for x in ours], EDGES, per=0.25), "dots"),
        ),
        bars=say(
            en=f"Bars and band: 95 % intervals of a share among {number(DRAWS)} draws.",
            fr=f"Barres et bande : intervalles à 95 % d'une part sur {number(DRAWS)} tirages.",
        ),
    )
    return Told(
        says=(
            say(
                en="To make noise of a given law, draw u uniformly in ]0, 1[ and invert the cumulative distribution, "
                "u = F(x). For "
                "Laplace, the note finds x by cases; for Gauss, x = μ + ρ erf⁻¹(2u − 1), with ρ² = 2 ln(1.25/δ) M²/ε², "
                "ε and δ in ]0, 1[.",
                fr="Pour produire un bruit de loi donnée, tirer u uniforme dans ]0, 1[ et inverser la fonction de "
                "répartition, u = F(x). Pour Laplace, la note trouve x par cas ; pour Gauss, x = μ + ρ erf⁻¹(2u − "
                "1), avec ρ² = 2 ln(1,25/δ) M²/ε², ε et δ dans ]0, 1[.",
            ),
        ),
        formulas=(
            Formula(
                r"x = \begin{cases} \mu + b \ln(2u) & u < \tfrac12 \\ \mu - b \ln(2(1-u)) & u \geq \tfrac12 \end{cases}",
                "x = μ + b ln(2u) if u < ½,   x = μ − b ln(2(1 − u)) if u ≥ ½"
                if terms.lang == "en"
                else "x = μ + b ln(2u) si u < ½,   x = μ − b ln(2(1 − u)) si u ≥ ½",
            ),
            Formula(
                r"x = \mu + \rho \sqrt 2 \, \operatorname{erf}^{-1}(2u-1), \qquad "
                r"\operatorname{erf}(x) = \frac{2}{\sqrt\pi} \int_0^x e^{-t^2} \, dt",
                "x = μ + ρ √2 erf^{−1}(2u − 1),   erf(x) = (2/√π) ∫_0^x e^{−t²} dt",
            ),
        ),
        found=(
            say(
                en=f"At ε = {price}, δ = 10⁻⁵ and sensitivity 1, ρ = {number(sigma)}. {number(DRAWS)} draws by the "
                f"note's formula have a standard deviation of {number(spread)}, which is ρ/√2; the same number from "
                f"the product's Gaussian, on a lattice of 2⁻²⁰, has {number(deviation(ours))}.",
                fr=f"À ε = {price}, δ = 10⁻⁵ et sensibilité 1, ρ = {number(sigma)}. {number(DRAWS)} tirages par la "
                f"formule de la note ont un écart-type de {number(spread)}, soit ρ/√2 ; autant de tirages du "
                f"mécanisme gaussien du produit, sur un réseau de pas 2⁻²⁰, en ont un de {number(deviation(ours))}.",
            ),
            say(
                en=f"In floats, noise gives the data away. Of {number(DRAWS)} outputs 0 + Laplace(1) computed by "
                f"inversion, {percent(told_by_floats)} (95 %: {percent(low)} to {percent(high)}) cannot be written as "
                "1 + Laplace(1): whoever sees one knows that the count was 0. On the product's lattice: "
                f"{percent(told_by_lattice)}.",
                fr=f"En flottants, le bruit trahit les données. Sur {number(DRAWS)} sorties 0 + Laplace(1) calculées "
                f"par inversion, {percent(told_by_floats)} (95 % : de {percent(low)} à {percent(high)}) ne peuvent "
                "pas s'écrire 1 + Laplace(1) : qui en voit une sait que le compte était 0. Sur le réseau du produit "
                f": {percent(told_by_lattice)}.",
            ),
            say(
                en="The note leaves vectors as a remark. Laplace noise is set by the L1 sensitivity, Gaussian noise "
                "by the L2 sensitivity: the table lets one person move d cells by 1 each.",
                fr="La note laisse les vecteurs en remarque. Le bruit de Laplace se règle sur la sensibilité L1, le "
                "bruit gaussien sur la sensibilité L2 : dans le tableau, une personne déplace d cases de 1 chacune.",
            ),
        ),
        chart=Slides.one(picture),
        table=vectors(terms),
        question=say(
            en="The note splits the cases on x < μ. Why must the program split on u < ½?",
            fr="La note sépare les cas selon x < μ. Pourquoi le programme doit-il les séparer selon u < ½ ?",
        ),
        answer=(
            say(
                en="Because x is what is being computed: only u is known. F(μ) = ½ and F grows, so x < μ is the same "
                "as u < ½.",
                fr="Parce que x est ce que l'on calcule : seul u est connu. F(μ) = ½ et F croît, donc x < μ équivaut "
                "à u < ½.",
            ),
        ),
        remark=(
            say(
                en="Two factors are missing. Without √2 the noise is too small by that factor: what is sold as "
                f"({price}, 10⁻⁵) keeps only δ = {number(broken)} at this ε, or ε = {number(epsilon_broken)} at this "
                f"δ (the right noise reaches {number(kept)}). Without 2/√π, erf ends at "
                f"{number(math.sqrt(math.pi) / 2)}, F runs from {number(0.5 - math.sqrt(math.pi) / 4)} to "
                f"{number(0.5 + math.sqrt(math.pi) / 4)} and is no distribution: {percent(undefined)} of the u have "
                "no x.",
                fr="Deux facteurs manquent. Sans √2, le bruit est trop petit d'autant : ce qui est vendu comme "
                f"({price}, 10⁻⁵) ne tient que δ = {number(broken)} à cet ε, ou ε = {number(epsilon_broken)} à ce δ "
                f"(le bon bruit atteint {number(kept)}). Sans 2/√π, erf s'arrête à {number(math.sqrt(math.pi) / 2)}, "
                f"F va de {number(0.5 - math.sqrt(math.pi) / 4)} à {number(0.5 + math.sqrt(math.pi) / 4)} et n'est "
                f"pas une fonction de répartition : {percent(undefined)} des u n'ont pas d'x.",
            ),
            say(
                en="M_f is written as a maximum over a set D without saying that it ranges over all pairs of "
                "neighbouring tables: read as the table at hand, it would tell something about it.",
                fr="M_f est écrit comme un maximum sur un ensemble D sans dire qu'il porte sur toutes les paires de "
                "tables voisines : lu comme la table présente, il en dirait quelque chose.",
            ),
        ),
    )


def density() -> tuple[Point, ...]:
    """N(0, 1)."""
    places = [-4 + step / 20 for step in range(161)]
    return tuple(Point(x, math.exp(-x * x / 2) / math.sqrt(2 * math.pi)) for x in places)


def deviation(values: Any) -> float:
    """The standard deviation."""
    import numpy as np

    return float(np.std(np.asarray(values, dtype=float)))


def vectors(terms: Terms) -> Table:
    """What either law needs when one person moves d cells."""
    from sfumato.core.sensitivity import Sensitivity
    from sfumato.mechanisms import Gaussian, Laplace

    rows = []
    for cells in (1, 10, 100):
        reach = Sensitivity.of_cells(cells)
        laplace = Laplace.calibrate(sensitivity=reach, epsilon=terms.epsilon)
        gauss = Gaussian.calibrate(sensitivity=reach, epsilon=terms.epsilon, delta=DELTA)
        rows.append((cells, laplace.scale, laplace.within("0.95"), gauss.sigma, gauss.within("0.95")))
    return Table(
        (
            "d",
            terms.say(en="Laplace: scale d/ε", fr="Laplace : échelle d/ε"),
            "± 95 %",
            terms.say(en="Gauss: σ", fr="Gauss : σ"),
            "± 95 %",
        ),
        tuple(rows),
        caption=terms.say(
            en=f"Noise of one cell, ε = {terms.number(terms.epsilon)}, δ = 10⁻⁵ for Gauss",
            fr=f"Bruit d'une case, ε = {terms.number(terms.epsilon)}, δ = 10⁻⁵ pour Gauss",
        ),
    )


LESSON = Lesson(
    name="bruit",
    note="000",
    section=Words("Additive noise: Laplace and Gauss", "Bruit additif : Laplace et Gauss"),
    title=Words("Noise by inversion", "Le bruit par inversion"),
    minutes=30,
    tell=tell,
    needs=("mallory",),
    epsilon="0.5",
)
