"""Curator, analyst, adversary: what each knows before and after one private count. Note 001."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.lessons.frequency import share
from sfumato.lessons.lesson import Lesson, Terms, Told, Words
from sfumato.show.picture import Axis, Picture, Point, Series
from sfumato.show.sheet import Cell, Formula, Table

if TYPE_CHECKING:
    from sfumato.noise import Source

OTHERS = 40
"""How many of the others are ill: the adversary knows all of them, and not Ada."""
RUNS = 20_000
PRIORS = tuple(Fraction(tenth, 10) for tenth in range(1, 10))
CURVE = tuple(step / 50 for step in range(51))
SMOKERS, FREE = (500, 100), (500, 15)
"""A made-up town: smokers and how many of them have cancer, non-smokers and how many of them. Ada smokes."""


def posterior(prior: float, logarithm: float) -> float:
    """Bayes: the odds are multiplied by the ratio of probabilities of what was seen."""
    if prior in (0.0, 1.0):
        return prior
    return 1 / (1 + (1 - prior) / prior * math.exp(-logarithm))


def counts(prior: Fraction, epsilon: Fraction, source: Source) -> tuple[Any, Any]:
    """Whether Ada is ill, and the curator's count, in each of RUNS worlds."""
    import numpy as np

    from sfumato.mechanisms import Laplace
    from sfumato.noise import uniform_below

    ill = np.asarray(uniform_below(prior.denominator, RUNS, source=source)) < prior.numerator
    return ill, Laplace.calibrate(epsilon=epsilon).release(OTHERS + ill.astype(np.int64), 1, source=source).value


def believed(prior: Fraction, epsilon: Fraction, source: Source) -> tuple[Point, Point]:
    """How often Ada is ill in the worlds whose count speaks most for it (above the others'), and most against it."""
    ill, seen = counts(prior, epsilon, source)
    speaking = seen > OTHERS
    points = []
    for chosen in (speaking, ~speaking):
        whole = int(chosen.sum())
        points.append(Point(float(prior), *(share(int(ill[chosen].sum()), whole) if whole else (0.0, 0.0, 1.0))))
    return points[0], points[1]


def guesses(epsilon: Fraction, source: Source) -> tuple[float, float, float]:
    """How often "ill if the count is above the others'" is right about Ada, when both are as likely."""
    ill, seen = counts(Fraction(1, 2), epsilon, source)
    return share(int(((seen > OTHERS) == ill).sum()), RUNS)


def learnt(epsilon: Fraction, source: Source, *, ada: bool) -> tuple[float, float]:
    """The share of smokers who have cancer by two private counts, and its 95 % bar, whether or not Ada is in the table.

    Each person is in one count of each kind: the two counts cost epsilon together.
    """
    from sfumato.mechanisms import Laplace

    laplace = Laplace.calibrate(epsilon=epsilon / 2)
    people, ill = (laplace.release(each - (not ada), 1, source=source).value for each in SMOKERS)
    within = laplace.within(Fraction(39, 40))
    if people <= within:
        return min(1.0, max(0.0, ill / max(1, people))), 1.0
    part = ill / people
    return part, (within + abs(part) * within) / (people - within)


def tell(terms: Terms) -> Told:
    """Prior and posterior around the promise; then the harm that no promise prevents."""
    from sfumato.mechanisms import Laplace

    say, number, percent = terms.say, terms.number, terms.percent
    edges: dict[Fraction, tuple[float, float]] = {}

    def draw(epsilon: Fraction) -> Picture:
        price, loss = number(epsilon), float(epsilon)
        pairs = [believed(prior, epsilon, terms.source) for prior in PRIORS]
        edges[epsilon] = posterior(0.5, -loss), posterior(0.5, loss)
        low, high = edges[epsilon]
        return Picture(
            title=say(en=f"What a count tells about Ada, ε = {price}", fr=f"Ce qu'un compte dit d'Ada, ε = {price}"),
            told=say(
                en=f"Who believed one half before believes between {percent(low)} and {percent(high)} after, whatever "
                "the count. The measured beliefs lie on the two curves of the promise: the count's worst outputs use "
                "it up.",
                fr=f"Qui croyait une chance sur deux avant croit après entre {percent(low)} et {percent(high)}, quel "
                "que soit le compte. Les croyances mesurées sont sur les deux courbes de la promesse : les pires "
                "sorties du compte l'épuisent.",
            ),
            x=Axis(say(en="belief before", fr="croyance avant"), domain=(0, 1), percent=True),
            y=Axis(say(en="belief after", fr="croyance après"), domain=(0, 1), percent=True),
            series=(
                Series(
                    say(en="at most", fr="au plus"),
                    tuple(Point(x, posterior(x, loss)) for x in CURVE),
                    "line",
                    exact=True,
                ),
                Series(
                    say(en="at least", fr="au moins"),
                    tuple(Point(x, posterior(x, -loss)) for x in CURVE),
                    "line",
                    exact=True,
                ),
                Series(say(en="count above", fr="compte au-dessus"), tuple(high for high, _ in pairs)),
                Series(say(en="count not above", fr="compte non au-dessus"), tuple(low for _, low in pairs)),
            ),
            bars=say(
                en=f"Bars: 95 % intervals of how often Ada is ill among {number(RUNS)} simulated worlds.",
                fr=f"Barres : intervalles à 95 % de la fréquence où Ada est malade, sur {number(RUNS)} mondes simulés.",
            ),
        )

    chart = terms.slides(draw, at=("0.1", "0.5", "1", "2", "4"))
    epsilon, price = terms.epsilon, number(terms.epsilon)
    low, high = edges[epsilon]
    right = guesses(epsilon, terms.source)
    seen = int(Laplace.calibrate(epsilon=epsilon).release(OTHERS, 1, source=terms.source).value)
    prior = (SMOKERS[1] + FREE[1]) / (SMOKERS[0] + FREE[0])
    present, absent = (learnt(epsilon, terms.source, ada=ada) for ada in (True, False))
    rows: tuple[tuple[Cell, ...], ...] = (
        (
            say(en="curator", fr="curateur"),
            say(en="every row", fr="chaque ligne"),
            say(en="the noise and the ledger", fr="le bruit et le registre"),
        ),
        (
            say(en="analyst", fr="analyste"),
            say(en="the columns, the policy", fr="les colonnes, la politique"),
            say(en=f"one count: {seen}", fr=f"un compte : {seen}"),
        ),
        (
            say(en="adversary", fr="adversaire"),
            say(en=f"every row but Ada's: {OTHERS} ill", fr=f"chaque ligne sauf celle d'Ada : {OTHERS} malades"),
            say(
                en=f"the same count; belief from 50 % to {percent(posterior(0.5, leaning(seen, epsilon)))}",
                fr=f"le même compte ; croyance de 50 % à {percent(posterior(0.5, leaning(seen, epsilon)))}",
            ),
        ),
        (
            "Ada",
            say(en="her own answer", fr="sa propre réponse"),
            say(en="that she may deny it", fr="qu'elle peut nier"),
        ),
    )
    return Told(
        says=(
            say(
                en="Two parties. A trustworthy curator holds a database, a row for each individual, and protects every "
                "row while permitting statistics: not interactive (statistics or a sanitised table, once and for all) "
                "or interactive (queries that may depend on earlier answers). An analyst asks, and may be an "
                "adversary. The analyst should know no more about an individual after than before; prior and posterior "
                "views should not differ too much. Privacy comes from plausible deniability.",
                fr="Deux parties. Un curateur de confiance détient une base, une ligne par individu, et protège chaque "
                "ligne tout en permettant des statistiques : non interactif (des statistiques ou une base assainie, "
                "une fois pour toutes) ou interactif (des requêtes qui peuvent dépendre des réponses précédentes). Un "
                "analyste interroge ; il peut être un adversaire. Il ne devrait en savoir pas plus sur un individu "
                "après qu'avant ; ses vues a priori et a posteriori ne devraient pas trop différer. La vie privée "
                "vient du déni plausible.",
            ),
        ),
        formulas=(
            Formula(
                r"e^{-\varepsilon} \, \frac{\pi}{1 - \pi} \leq \frac{\pi'}{1 - \pi'} \leq "
                r"e^{\varepsilon} \, \frac{\pi}{1 - \pi}",
                "e^{−ε} π/(1 − π) ≤ π′/(1 − π′) ≤ e^ε π/(1 − π)",
            ),
        ),
        found=(
            say(
                en="The strongest adversary of the definition: he knows every row but Ada's, so that he knows that "
                f"{OTHERS} of the others are ill, and asks the curator how many people are. The product's count at ε "
                f"= {price} is the truth and discrete Laplace noise. In {number(RUNS)} simulated worlds for each "
                "prior π, he looks at the counts that speak most for her illness, and notes how often she is ill.",
                fr="Le plus fort adversaire de la définition : il connaît chaque ligne sauf celle d'Ada, donc sait que "
                f"{OTHERS} des autres sont malades, et demande au curateur combien de personnes le sont. Le compte du "
                f"produit à ε = {price} est la vérité et un bruit de Laplace discret. Dans {number(RUNS)} mondes "
                "simulés pour chaque a priori π, il regarde les comptes qui parlent le plus pour sa maladie, et note "
                "combien de fois elle est malade.",
            ),
            say(
                en=f"From π = 50 % he never gets beyond {percent(high)}, nor below {percent(low)}. His best guess is "
                f"right in {percent(right[0])} of the worlds (95 %: {percent(right[1])} to {percent(right[2])}); "
                f"e^ε/(1 + e^ε) = {percent(high)} is the most that any guess can be. Ada can deny: every count that he "
                "may see, he may see from either world.",
                fr=f"Depuis π = 50 %, il ne dépasse jamais {percent(high)}, ni ne descend sous {percent(low)}. Sa "
                f"meilleure réponse est juste dans {percent(right[0])} des mondes (95 % : de {percent(right[1])} à "
                f"{percent(right[2])}) ; e^ε/(1 + e^ε) = {percent(high)} est le mieux que puisse faire une réponse. "
                "Ada peut nier : chaque compte qu'il peut voir, il peut le voir depuis l'un et l'autre monde.",
            ),
        ),
        chart=chart,
        table=Table(
            (
                say(en="role", fr="rôle"),
                say(en="knows before", fr="sait avant"),
                say(en="has after", fr="a après"),
            ),
            rows,
            caption=say(en=f"One question, ε = {price}", fr=f"Une question, ε = {price}"),
        ),
        question=say(
            en="The analyst asks the same question a hundred times, at this ε each. Who of the four must notice, and "
            "what would the adversary's belief be bounded by if nobody did?",
            fr="L'analyste pose cent fois la même question, à cet ε chacune. Lequel des quatre doit s'en apercevoir, "
            "et par quoi la croyance de l'adversaire serait-elle bornée si personne ne le faisait ?",
        ),
        answer=(
            say(
                en="The curator: the ledger is kept there, losses add up, and the hundred answers would together "
                f"allow odds of exp({number(100 * epsilon)}). The product replays the first answer to a question that "
                "was asked before, which costs nothing, and refuses new ones when the budget is spent.",
                fr="Le curateur : il tient le registre, les pertes s'ajoutent, et les cent réponses permettraient "
                f"ensemble une cote de exp({number(100 * epsilon)}). Le produit rejoue la première réponse à une "
                "question déjà posée, ce qui ne coûte rien, et refuse les nouvelles quand le budget est dépensé.",
            ),
        ),
        remark=(
            say(
                en="“Knows no more about an individual after the analysis than before” cannot be had from anything "
                f"useful. In a made-up town {percent(prior)} of the people have cancer. Two private counts at ε = "
                f"{price} say: of the smokers, {percent(present[0])} ± {percent(present[1])}. Whoever knows that Ada "
                f"smokes now believes that of her. Without her row the counts say {percent(absent[0])} ± "
                f"{percent(absent[1])}: what harms her is what is true of smokers, and it is learnt as well when she "
                "stays away.",
                fr="« N'en sait pas plus sur un individu après l'analyse qu'avant » : rien d'utile ne le permet. Dans "
                f"une ville inventée, {percent(prior)} des gens ont un cancer. Deux comptes privés à ε = {price} "
                f"disent : parmi les fumeurs, {percent(present[0])} ± {percent(present[1])}. Qui sait qu'Ada fume le "
                f"croit maintenant d'elle. Sans sa ligne, les comptes disent {percent(absent[0])} ± "
                f"{percent(absent[1])} : ce qui lui nuit est vrai des fumeurs, et s'apprend tout autant si elle "
                "s'abstient.",
            ),
            say(
                en="What differential privacy bounds is the difference that taking part makes: the curves above, for "
                "one row, when the others are known or do not depend on it. “Not too different” is that, with ε in "
                "it. Rows that know one another are the subject of the lesson `pufferfish`.",
                fr="Ce que borne la confidentialité différentielle, c'est la différence que fait la participation : "
                "les courbes ci-dessus, pour une ligne, quand les autres sont connues ou n'en dépendent pas. « Pas "
                "trop différentes », c'est cela, avec ε dedans. Les lignes liées entre elles sont le sujet de la "
                "leçon `pufferfish`.",
            ),
        ),
    )


def leaning(seen: int, epsilon: Fraction) -> float:
    """The logarithm of P(count | ill) / P(count | well) under discrete Laplace noise: epsilon up or down, nothing between."""
    return float(epsilon) * (abs(seen - OTHERS) - abs(seen - OTHERS - 1))


LESSON = Lesson(
    name="roles",
    note="001",
    section=Words("Terminology", "Terminology"),
    title=Words("Curator, analyst, adversary", "Curateur, analyste, adversaire"),
    minutes=20,
    tell=tell,
    needs=("laplace",),
    epsilon="1",
)
