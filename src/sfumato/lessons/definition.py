"""A randomised algorithm is a point of a simplex, and privacy is how far apart two of its points may be. Note 001."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

from sfumato.lessons.frequency import share
from sfumato.lessons.lesson import Lesson, Terms, Told, Words
from sfumato.show.picture import Axis, Picture, Point, Series
from sfumato.show.sheet import Around, Cell, Formula, Table

if TYPE_CHECKING:
    from sfumato.accounting import Pair
    from sfumato.mechanisms import RandomizedResponse

Vector = tuple[Fraction, ...]
OUTPUTS = 3
DRAWS = 5000
STEPS = 60
LEAK = Fraction(1, 100)


def product(epsilon: Fraction) -> RandomizedResponse:
    """One person's answer among three, said truly as often as epsilon allows."""
    from sfumato.mechanisms import RandomizedResponse

    return RandomizedResponse.calibrate(epsilon=epsilon, categories=OUTPUTS)


def laws(mechanism: RandomizedResponse) -> tuple[Vector, ...]:
    """The law of the output for each answer that the person may hold: points of the simplex."""
    return tuple(
        tuple(mechanism.truth if said == held else mechanism.other for said in range(OUTPUTS))
        for held in range(OUTPUTS)
    )


def allowed(law: Vector, epsilon: float) -> Iterator[tuple[float, float, float]]:
    """Where the law of a neighbour may be: for each first probability, the least and the greatest second one.

    All three probabilities are between e^-epsilon and e^epsilon times those of `law`, and they sum to one.
    """
    lows = [math.exp(-epsilon) * float(p) for p in law]
    highs = [min(1.0, math.exp(epsilon) * float(p)) for p in law]
    first, last = (max(lows[0], 1 - highs[1] - highs[2]), min(highs[0], 1 - lows[1] - lows[2]))
    for step in range(STEPS + 1):
        x = first + (last - first) * step / STEPS
        yield x, max(lows[1], 1 - x - highs[2]), min(highs[1], 1 - x - lows[2])


def pair(one: Sequence[Fraction], other: Sequence[Fraction]) -> Pair:
    """The two laws as the product's accountant takes them."""
    from sfumato.accounting import Pair

    return Pair.of(one, other)


def over_all_sets(one: Vector, other: Vector, epsilon: float) -> float:
    """The least delta of the definition: the largest P(O) - e^epsilon P'(O) over every set O of outputs, one by one."""
    sets = [chosen for size in range(len(one) + 1) for chosen in combinations(range(len(one)), size)]
    return max(
        float(sum(one[place] for place in chosen)) - math.exp(epsilon) * float(sum(other[place] for place in chosen))
        for chosen in sets
    )


NAMING: tuple[Vector, Vector] = ((LEAK, Fraction(0), 1 - LEAK), (Fraction(0), LEAK, 1 - LEAK))
"""Says nothing, but in one case of a hundred the truth: its two laws when the truth is yes, and when it is no."""
PUBLISHING: tuple[Vector, Vector] = ((Fraction(1), Fraction(0)), (Fraction(0), Fraction(1)))
"""Publishes the table."""


def tell(terms: Terms) -> Told:
    """Three points of a simplex, their privacy losses, and the line that the note leaves unfinished."""
    from sfumato.mechanisms import Laplace

    say, number, percent = terms.say, terms.number, terms.percent
    names = [say(en="blue", fr="bleu"), say(en="green", fr="vert"), say(en="brown", fr="marron")]

    def observed(mechanism: RandomizedResponse, held: int) -> list[int]:
        said = list(mechanism.repeat(held, DRAWS, terms.source))
        return [said.count(each) for each in range(OUTPUTS)]

    def draw(epsilon: Fraction) -> Picture:
        mechanism, price = product(epsilon), number(epsilon)
        points = laws(mechanism)
        region = list(allowed(points[0], float(epsilon)))
        seen = []
        for held in range(OUTPUTS):
            hits = observed(mechanism, held)
            seen.append(Point(hits[0] / DRAWS, *share(hits[1], DRAWS)))
        return Picture(
            title=say(en=f"Three laws in the simplex, ε = {price}", fr=f"Trois lois dans le simplexe, ε = {price}"),
            told=say(
                en="Each answer that a person may hold is one point; the farther apart, the better they are told from "
                "each other. The two lines bound where a neighbour of the law of “blue” may be; the other two laws lie "
                "on its border: the promise is used up.",
                fr="Chaque réponse qu'une personne peut détenir est un point ; plus ils sont éloignés, mieux on les "
                "distingue. Les deux lignes bornent où peut être une loi voisine de celle de « bleu » ; les deux "
                "autres lois sont sur ce bord : la promesse est épuisée.",
            ),
            x=Axis(say(en=f"P({names[0]})", fr=f"P({names[0]})"), domain=(0, 1)),
            y=Axis(say(en=f"P({names[1]})", fr=f"P({names[1]})"), domain=(0, 1)),
            series=(
                Series(
                    say(en="edge of the simplex", fr="bord du simplexe"), (Point(0, 1), Point(1, 0)), "line", exact=True
                ),
                Series(
                    say(en="allowed, at most", fr="permis, au plus"),
                    tuple(Point(x, high) for x, _, high in region),
                    "line",
                    exact=True,
                ),
                Series(
                    say(en="allowed, at least", fr="permis, au moins"),
                    tuple(Point(x, low) for x, low, _ in region),
                    "line",
                    exact=True,
                ),
                Series(say(en="observed laws", fr="lois observées"), tuple(seen)),
            ),
            bars=say(
                en=f"Bars: 95 % intervals of the share on the vertical axis among {number(DRAWS)} draws; it is as "
                "uncertain along the other.",
                fr=f"Barres : intervalles à 95 % de la part verticale sur {number(DRAWS)} tirages ; l'autre est aussi "
                "incertaine.",
            ),
        )

    chart = terms.slides(draw, at=("0.1", "0.5", "1", "2", "4"))
    epsilon, price = terms.epsilon, number(terms.epsilon)
    mechanism = product(epsilon)
    one, other, _ = laws(mechanism)
    hits = observed(mechanism, 0)
    rows: list[tuple[Cell, ...]] = []
    for name, hit, p, q in zip(names, hits, one, other, strict=True):
        part, low, high = share(hit, DRAWS)
        rows.append((name, float(p), float(q), math.log(p / q), Around(part, (high - low) / 2)))
    stated = mechanism.loss().pure()
    half = epsilon / 2
    both = pair(one, other)
    checked = over_all_sets(one, other, float(half))
    naming, publishing = pair(*NAMING), pair(*PUBLISHING)
    laplace = Laplace.calibrate(epsilon=epsilon)
    added, replaced = (laplace.loss(reach).pure() for reach in (1, 2))
    assert stated is not None
    assert added is not None
    assert replaced is not None
    return Told(
        says=(
            say(
                en="“Participation of a person does not change the outcome too much.” The probability simplex Δ(B) "
                "over a discrete set B holds all laws on B; a randomised algorithm takes a database to a point of "
                "it. It is ε-differentially private if for all D, D′ that differ in one person's value the logarithm "
                "of the ratio of the two laws stays within ε: their max-divergence. (ε, δ): “if for all O ⊆ Range(M) "
                "and for all x, y such that ‖x − y‖ ≤ 1”, and there the line ends.",
                fr="« La participation d'une personne ne change pas trop le résultat. » Le simplexe de probabilité "
                "Δ(B) d'un ensemble discret B contient toutes les lois sur B ; un algorithme aléatoire envoie une "
                "base sur un de ses points. Il est ε-différentiellement privé si, pour toutes bases D, D′ qui "
                "diffèrent par la valeur d'une personne, le logarithme du rapport des deux lois reste dans ε : leur "
                "max-divergence. (ε, δ) : « si pour tout O ⊆ Range(M) et tous x, y tels que ‖x − y‖ ≤ 1 », et là "
                "s'arrête la ligne.",
            ),
        ),
        formulas=(
            Formula(
                r"\Delta(B) = \Big\{ x \in \mathbb{R}^{|B|} : x_i \geq 0, \sum_i x_i = 1 \Big\}",
                "Δ(B) = { x ∈ R^{|B|} : x_i ≥ 0, Σ_i x_i = 1 }",
            ),
            Formula(
                r"L(t) = \ln \frac{\Pr[M(x) = t]}{\Pr[M(y) = t]}, \qquad \sup_t |L(t)| \leq \varepsilon",
                "L(t) = ln(P(M(x) = t) / P(M(y) = t)),   sup_t |L(t)| ≤ ε",
            ),
            Formula(
                r"\Pr[M(x) \in O] \leq e^{\varepsilon} \Pr[M(y) \in O] + \delta",
                "P(M(x) ∈ O) ≤ e^ε P(M(y) ∈ O) + δ",
            ),
        ),
        found=(
            say(
                en=f"B has three outputs: {', '.join(names)}. The product's randomised response at ε = {price} says "
                f"the truth with probability {number(mechanism.truth)}, each other answer with "
                f"{number(mechanism.other)}: one point of the simplex for each truth. The table holds the privacy "
                f"loss of each output between the first two; how often each is met when the truth is {names[0]} "
                f"is in the column P(· | {names[0]}). The largest is "
                f"{number(max(abs(math.log(p / q)) for p, q in zip(one, other, strict=True)), 6)}, and the product "
                f"states {number(stated[0], 6)}.",
                fr=f"B a trois sorties : {', '.join(names)}. La réponse aléatoire du produit à ε = {price} dit la "
                f"vérité avec probabilité {number(mechanism.truth)}, chaque autre réponse avec "
                f"{number(mechanism.other)} : un point du simplexe pour chaque vérité. Le tableau donne la perte de "
                "confidentialité de chaque sortie entre les deux premières ; la fréquence de chacune, quand la "
                f"vérité est {names[0]}, est dans la colonne P(· | {names[0]}). La plus grande vaut "
                f"{number(max(abs(math.log(p / q)) for p, q in zip(one, other, strict=True)), 6)}, et le produit "
                f"annonce {number(stated[0], 6)}.",
            ),
            say(
                en=f"The same pair of laws also keeps ({number(half)}, δ) for a δ above 0. Trying all {2**OUTPUTS} "
                f"sets O finds δ = {number(checked, 6)}; the product's accountant says "
                f"{number(both.delta(float(half)), 6)}.",
                fr=f"La même paire de lois tient aussi ({number(half)} ; δ) pour un δ positif. L'essai des "
                f"{2**OUTPUTS} ensembles O trouve δ = {number(checked, 6)} ; le comptable du produit dit "
                f"{number(both.delta(float(half)), 6)}.",
            ),
        ),
        chart=chart,
        table=Table(
            (
                say(en="output", fr="sortie"),
                f"P(· | {names[0]})",
                f"P(· | {names[1]})",
                say(en="privacy loss", fr="perte"),
                say(en="observed", fr="observé"),
            ),
            tuple(rows),
            caption=say(
                en=f"ε = {price}; observed: {number(DRAWS)} draws where the truth is {names[0]}, ± 95 %",
                fr=f"ε = {price} ; observé : {number(DRAWS)} tirages où la vérité est {names[0]}, ± 95 %",
            ),
        ),
        question=say(
            en="An algorithm does not look at the data and names one of the three colours, each as likely. Where in "
            "the simplex is it, and which ε does it keep?",
            fr="Un algorithme ne regarde pas les données et nomme une des trois couleurs, chacune aussi probable. Où "
            "est-il dans le simplexe, et quel ε tient-il ?",
        ),
        answer=(
            say(
                en="At the centre, (1/3, 1/3, 1/3), for every database: one point, so every privacy loss is 0 and ε = "
                "0. Move the slider to the left: the three laws go there. Perfect privacy, and an answer about nobody.",
                fr="Au centre, (1/3, 1/3, 1/3), pour toute base : un seul point, donc toute perte est nulle et ε = 0. "
                "Poussez le curseur à gauche : les trois lois y vont. Une confidentialité parfaite, et une réponse qui "
                "ne parle de personne.",
            ),
        ),
        remark=(
            say(
                en="The (ε, δ) line has no inequality: as printed, every algorithm is (ε, δ)-private, also the one "
                "that publishes the table. Completed, it asks of that one δ = "
                f"{number(publishing.delta(float(epsilon)))} at ε = {price}, and at every other. The missing half is "
                "the third formula above.",
                fr="La ligne (ε, δ) n'a pas d'inégalité : telle qu'imprimée, tout algorithme est (ε, δ)-privé, même "
                f"celui qui publie la table. Complétée, elle exige de lui δ = "
                f"{number(publishing.delta(float(epsilon)))} à ε = {price}, et à tout autre. La moitié qui manque est "
                "la troisième formule ci-dessus.",
            ),
            say(
                en="The supremum of log p/p′ is the definition only where both densities are positive; where both are "
                "0 it is undefined, and where one is 0 no ε will do. An algorithm that says nothing, but the truth in "
                f"{percent(float(LEAK))} of the cases, has a loss of 0 for “nothing”, which is nearly all that is ever "
                f"seen; its ε is {'∞' if math.isinf(naming.epsilon(0)) else number(naming.epsilon(0))}, and it keeps "
                f"(0, {number(naming.delta(0.0))}). That is what δ stands for, and why it must be far below one over "
                "the number of people.",
                fr="Le supremum de log p/p′ n'est la définition que là où les deux densités sont positives ; là où les "
                "deux sont nulles il n'a pas de sens, et là où une seule l'est, aucun ε ne convient. Un algorithme qui "
                f"ne dit rien, sauf la vérité dans {percent(float(LEAK))} des cas, a une perte nulle pour « rien », "
                "qui est presque tout ce qu'on voit ; son ε vaut "
                f"{'∞' if math.isinf(naming.epsilon(0)) else number(naming.epsilon(0))}, et il tient (0 ; "
                f"{number(naming.delta(0.0))}). Voilà ce que δ représente, et pourquoi il doit être bien plus petit "
                "que l'inverse du nombre de personnes.",
            ),
            say(
                en="The first definition changes one person's value, the second one adds or removes (‖x − y‖ ≤ 1): two "
                "relations in one note. A histogram with the product's Laplace noise at ε = "
                f"{number(added[0])} for the second costs {number(replaced[0])} for the first, since a changed value "
                "leaves one bar and enters another.",
                fr="La première définition change la valeur d'une personne, la seconde en ajoute ou en retire une "
                "(‖x − y‖ ≤ 1) : deux relations dans une note. Un histogramme au bruit de Laplace du produit, à ε = "
                f"{number(added[0])} pour la seconde, coûte {number(replaced[0])} pour la première, car une valeur "
                "changée quitte une barre et entre dans une autre.",
            ),
        ),
    )


LESSON = Lesson(
    name="definition",
    note="001",
    section=Words("Definition and Properties", "Definition and Properties"),
    title=Words("What is promised", "Ce qui est promis"),
    minutes=30,
    tell=tell,
    needs=("reponse-aleatoire",),
    epsilon="1",
)
