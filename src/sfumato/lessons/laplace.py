"""Noise that ignores the sensitivity tells two months apart; the right one keeps every ratio under e^epsilon. Note 004."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.lessons.frequency import share, up_to
from sfumato.lessons.lesson import Lesson, Terms, Told, Words
from sfumato.lessons.mallory import JANUARY, MALLORY, MOST, month, pair
from sfumato.show.picture import Axis, Picture, Series
from sfumato.show.sheet import Cell, Formula, Table

if TYPE_CHECKING:
    from sfumato.noise import Source

PEOPLE = (100, 101)
MEANS = (55_000, 56_000)
"""The exact answers of January and February."""
BETWEEN = sum(MEANS) // 2
TIMES = 2000
PLACES = tuple(range(46_000, 65_001, 250))
MARGIN = 100
"""The note lets the noisy means stay this close to the exact ones."""


def blind(mean: int, epsilon: Fraction, source: Source) -> Any:
    """Means with noise of scale 1/epsilon, as if one person could move a mean by 1 $ only."""
    import numpy as np

    from sfumato.mechanisms import Laplace

    return Laplace(scale=1 / epsilon).release(np.full(TIMES, mean), 1, source=source).value


def aware(salaries: list[int], epsilon: Fraction, source: Source) -> list[float]:
    """Means as the product releases them: counts unknown, salaries in [0, 200 000]."""
    found = (pair(result)[1].unbiased for result in month(salaries, epsilon).answers(TIMES, source))
    return [float(mean) for mean in found if mean is not None]


def guessed(january: Any, february: Any) -> tuple[float, float, float]:
    """How often "above 55 500: February" is right, when either month is as likely."""
    right = sum(mean <= BETWEEN for mean in january) + sum(mean > BETWEEN for mean in february)
    return share(int(right), len(january) + len(february))


def largest_ratio(epsilon: Fraction) -> tuple[float, int]:
    """The largest logarithm of P(output | 100) / P(output | 101), in either direction, over every output that the exact
    law of the product's count lists; and how many those are."""
    from sfumato.mechanisms import Laplace

    mechanism = Laplace.calibrate(epsilon=epsilon)
    one, other = (mechanism.law(people) for people in PEOPLE)
    assert one is not None
    assert other is not None
    shared = [out for out in one.weights if min(*one.weights[out], *other.weights.get(out, (0, 0))) >> 64]
    ratios = [abs(math.log(one.weights[out][1]) - math.log(other.weights[out][1])) for out in shared]
    return max(ratios), len(ratios)


def tell(terms: Terms) -> Told:
    """Two months with both noises, and the ratio of the count's probabilities."""
    from sfumato.core.errors import BadInput
    from sfumato.mechanisms import Laplace

    if not Fraction(1, 50) <= terms.epsilon <= 40:
        raise BadInput("the law of such a noise is not written down", hint="give --epsilon between 0.02 and 40")
    say, number, percent = terms.say, terms.number, terms.percent
    seen: dict[Fraction, tuple[tuple[float, float, float], tuple[float, float, float]]] = {}

    def draw(epsilon: Fraction) -> Picture:
        naive = [blind(mean, epsilon, terms.source) for mean in MEANS]
        right = [aware(salaries, epsilon, terms.source) for salaries in (JANUARY, [*JANUARY, MALLORY])]
        seen[epsilon] = guessed(*naive), guessed(*right)
        price = number(epsilon)
        names = (
            say(en="January, noise 1/ε", fr="janvier, bruit 1/ε"),
            say(en="February, noise 1/ε", fr="février, bruit 1/ε"),
            say(en="January, noise of the product", fr="janvier, bruit du produit"),
            say(en="February, noise of the product", fr="février, bruit du produit"),
        )
        return Picture(
            title=say(en=f"The mean salary with noise, ε = {price}", fr=f"Le salaire moyen bruité, ε = {price}"),
            told=say(
                en="With noise of scale 1/ε the two months are two cliffs a thousand dollars apart: one answer tells "
                f"them apart in {percent(seen[epsilon][0][0])} of the draws. With noise that knows the sensitivity "
                f"the two slopes overlap: {percent(seen[epsilon][1][0])}.",
                fr="Avec un bruit d'échelle 1/ε, les deux mois sont deux falaises à mille dollars l'une de l'autre : "
                f"une réponse les distingue dans {percent(seen[epsilon][0][0])} des tirages. Avec un bruit qui "
                f"connaît la sensibilité, les deux pentes se recouvrent : {percent(seen[epsilon][1][0])}.",
            ),
            x=Axis(say(en="noisy mean ($)", fr="moyenne bruitée ($)"), domain=(PLACES[0], PLACES[-1])),
            y=Axis(
                say(en="share of draws at most this", fr="part des tirages ne dépassant pas"),
                domain=(0, 1),
                percent=True,
            ),
            series=tuple(
                Series(name, up_to(values, PLACES), "line")
                for name, values in zip(names, (*naive, *right), strict=True)
            ),
            bars=say(
                en=f"Bands: 95 % intervals of a share among {number(TIMES)} draws.",
                fr=f"Bandes : intervalles à 95 % d'une part sur {number(TIMES)} tirages.",
            ),
        )

    chart = terms.slides(draw, at=("0.1", "0.5", "1", "2"))
    price, power = number(terms.epsilon), terms.power(terms.epsilon)
    naive, right = seen[terms.epsilon]
    most, outputs = largest_ratio(terms.epsilon)
    stray = math.exp(-MARGIN * float(terms.epsilon))
    weak = math.exp(-MARGIN / 100)
    moved = MEANS[1] - MEANS[0]
    apart = Laplace(scale=1 / terms.epsilon).loss(moved).epsilon(0)
    bound = float(terms.epsilon)
    rows: list[tuple[Cell, ...]] = [
        (say(en="number of people, 1/ε", fr="nombre d'employés, 1/ε"), 1, f"{number(1 / bound)}", most),
        (say(en="mean salary, 1/ε", fr="salaire moyen, 1/ε"), moved, f"{number(1 / bound)}", apart),
        (
            say(en="mean salary, Δ/ε with Δ = 1 000", fr="salaire moyen, Δ/ε avec Δ = 1 000"),
            moved,
            number(moved / bound),
            Laplace.calibrate(sensitivity=moved, epsilon=terms.epsilon).loss(moved).epsilon(0),
        ),
    ]
    return Told(
        says=(
            say(
                en="To publish the number of employees, 100 then 101, add centred Laplace noise of scale 1/ε. With "
                "the same noise on the mean salary, 55 000 $ then 56 000 $, all of January's values fall into "
                "[54 900, 55 100] and all of February's into [55 900, 56 100]: the noise must depend on the "
                "sensitivity Δ of the question.",
                fr="Pour publier le nombre d'employés, 100 puis 101, ajouter un bruit de Laplace centré d'échelle "
                "1/ε. Avec le même bruit sur le salaire moyen, 55 000 $ puis 56 000 $, toutes les valeurs de janvier "
                "tombent dans [54 900, 55 100] et toutes celles de février dans [55 900, 56 100] : le bruit doit "
                "dépendre de la sensibilité Δ de la requête.",
            ),
        ),
        formulas=(
            Formula(
                r"M(D) = Q(D) + \nu, \qquad \nu \sim \mathrm{Lap}(0, \Delta_Q / \varepsilon)",
                "M(D) = Q(D) + ν,   ν ~ Lap(0, Δ_Q/ε)",
            ),
            Formula(
                r"\frac{f_{M(D_1)}(r)}{f_{M(D_2)}(r)} = e^{(|r - Q(D_2)| - |r - Q(D_1)|)/b} "
                r"\leq e^{|Q(D_1) - Q(D_2)|/b} \leq e^{\varepsilon}",
                "f_1(r) / f_2(r) = e^{(|r − Q(D_2)| − |r − Q(D_1)|)/b} ≤ e^{|Q(D_1) − Q(D_2)|/b} ≤ e^{ε}",
            ),
        ),
        found=(
            say(
                en=f"The two months of Mallory's firm again, {number(TIMES)} draws each. At ε = {price}, whoever says "
                f"“February” for an answer above 55 500 $ is right in {percent(naive[0])} of the draws with noise of "
                f"scale 1/ε, and in {percent(right[0])} (95 %: {percent(right[1])} to {percent(right[2])}) with the "
                "product's noise, which lets a salary be anything in [0, 200 000] and hides how many there are. "
                "Tossing a coin is right in half of them.",
                fr=f"Les deux mois de l'entreprise de Mallory, {number(TIMES)} tirages chacun. À ε = {price}, qui dit "
                f"« février » pour une réponse au-dessus de 55 500 $ a raison dans {percent(naive[0])} des tirages "
                f"avec un bruit d'échelle 1/ε, et dans {percent(right[0])} (95 % : de {percent(right[1])} à "
                f"{percent(right[2])}) avec le bruit du produit, qui admet tout salaire dans [0, 200 000] et cache "
                "combien il y en a. Pile ou face a raison une fois sur deux.",
            ),
            say(
                en=f"For the number of people, the product writes down the exact law of its output for 100 and for "
                f"101. Over the {number(outputs)} outputs of any weight, the largest ratio of the two probabilities "
                f"has the logarithm {number(most, 6)}: it is exp(ε) = {power}, and never above.",
                fr="Pour le nombre d'employés, le produit écrit la loi exacte de sa sortie, pour 100 et pour 101. Sur "
                f"les {number(outputs)} sorties qui ont un poids, le plus grand rapport des deux probabilités a "
                f"pour logarithme {number(most, 6)} : c'est exp(ε) = {power}, et jamais davantage.",
            ),
        ),
        chart=chart,
        table=Table(
            (
                say(en="question and noise", fr="requête et bruit"),
                say(en="the months differ by", fr="écart des deux mois"),
                say(en="scale", fr="échelle"),
                say(en="log of the largest ratio", fr="log du plus grand rapport"),
            ),
            tuple(rows),
            caption=say(
                en=f"Between January and February, at ε = {price}", fr=f"Entre janvier et février, à ε = {price}"
            ),
        ),
        question=say(
            en="The third row keeps the promise for these two months. Why is Δ = 1 000 not the sensitivity?",
            fr="La troisième ligne tient la promesse pour ces deux mois. Pourquoi Δ = 1 000 n'est-il pas la "
            "sensibilité ?",
        ),
        answer=(
            say(
                en="Because it was read off these two tables. The sensitivity is the largest change over all pairs of "
                f"neighbours that the policy allows: with salaries up to {number(MOST)} $ and an unknown number of "
                "people, the mean moves by up to half of that when a second person comes. A noise fitted to the "
                "tables at hand also tells something about them by its size.",
                fr="Parce qu'il a été lu sur ces deux bases. La sensibilité est le plus grand écart sur toutes les "
                f"paires de voisines que la politique admet : avec des salaires jusqu'à {number(MOST)} $ et un nombre "
                "de personnes inconnu, la moyenne peut bouger de la moitié quand une deuxième personne arrive. "
                "Et un bruit ajusté aux bases présentes en dit quelque chose par sa taille.",
            ),
        ),
        remark=(
            say(
                en="The theorem and its proof are right: they speak of densities, since any single real number has "
                "probability 0. What cannot be is that all values fall into an interval of ±100: Laplace noise has no "
                f"end. A share exp(−100 ε) falls outside: {number(stray)} at ε = {price}, but {percent(weak)} at "
                "ε = 0.01, a value that the note itself uses for its histogram.",
                fr="Le théorème et sa preuve sont justes : ils parlent de densités, puisque tout réel isolé a une "
                "probabilité nulle. Ce qui est impossible, c'est que toutes les valeurs tombent dans un intervalle de "
                f"±100 : le bruit de Laplace n'a pas de bout. Une part exp(−100 ε) tombe dehors : {number(stray)} à "
                f"ε = {price}, mais {percent(weak)} à ε = 0,01, valeur que la note elle-même prend pour son "
                "histogramme.",
            ),
            say(
                en="The proof holds for real numbers. A program that adds a float from numpy computes "
                "with others, and its outputs tell the table apart: see the lesson `bruit`. The product's noise is on "
                "whole numbers, where the same proof goes through.",
                fr="La preuve vaut pour des nombres réels. Un programme qui ajoute un flottant de numpy "
                "calcule avec d'autres, et ses sorties trahissent la base : voir la leçon `bruit`. Le bruit du "
                "produit vit sur les entiers, où la même preuve passe.",
            ),
        ),
    )


LESSON = Lesson(
    name="laplace",
    note="004",
    section=Words("Numeric questions: the Laplace mechanism", "Requêtes numériques : mécanisme de Laplace"),
    title=Words("Noise of the right size", "Un bruit de la bonne taille"),
    minutes=30,
    tell=tell,
    needs=("sensibilite",),
)
