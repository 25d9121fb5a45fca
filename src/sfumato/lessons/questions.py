"""The three questions that note 004 leaves open: negative counts, machine learning, and which mechanism of two."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from sfumato.lessons.frequency import mean, share
from sfumato.lessons.lesson import Lesson, Terms, Told, Words
from sfumato.show.picture import Axis, Picture, Point, Series, Slides
from sfumato.show.sheet import Around, Cell, Formula, Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.mechanisms import Laplace
    from sfumato.mechanisms.which import Advice
    from sfumato.noise import Source

    Grid = NDArray[np.int64]

PEOPLE, TESTED, SIGNS = 300, 20_000, 10
"""Patients to learn from, patients to be judged, and yes-or-no signs of each."""
PRICES = ("0.1", "0.2", "0.5", "1", "2", "5", "10", "20")
"""The note's range for machine learning."""
ROUNDS = 20
COUNTS = (0, 0, 0, 2, 5, 40, 120, 60, 8, 1, 0, 0)
"""Small counts, some of them truly 0: how many days patients stayed."""
DELTA = "1e-6"
RUNS = 2000


@final
@dataclass(frozen=True)
class Clinic:
    """Generated patients: ill or not, and signs that are likelier (or not) among the ill."""

    signs: Grid
    ill: Grid

    @classmethod
    def of(cls, people: int, source: Source) -> Clinic:
        """Half of them are ill; sign j shows in 30 % of the well, and in 35 to 71 % of the ill."""
        import numpy as np

        from sfumato.noise import uniform_below

        ill = uniform_below(2, people, source=source)
        drawn = uniform_below(100, people * SIGNS, source=source).reshape(people, SIGNS)
        likely = np.where(ill[:, None] == 1, 35 + 4 * np.arange(SIGNS), 30)
        return cls((drawn < likely).astype(np.int64), ill)

    def counts(self) -> Grid:
        """For the well and for the ill: how many there are, and how many show each sign."""
        import numpy as np

        rows = [[len(group), *group.sum(axis=0)] for group in (self.signs[self.ill == k] for k in (0, 1))]
        return np.asarray(rows, dtype=np.int64)


def mechanism(epsilon: Fraction) -> Laplace:
    """Noise for all counts. A patient is in one row, and moves its number and at most each of its signs: SIGNS + 1 cells."""
    from sfumato.core.sensitivity import Sensitivity
    from sfumato.mechanisms import Laplace

    return Laplace.calibrate(sensitivity=Sensitivity.of_cells(SIGNS + 1), epsilon=epsilon)


def correct(counts: Any, judged: Clinic) -> int:
    """How many are judged rightly by naive Bayes on these counts; what is impossible among them is put right first."""
    import numpy as np

    people = np.maximum(np.asarray(counts, dtype=float)[:, :1], 2)
    shown = np.clip(np.asarray(counts, dtype=float)[:, 1:], 0, people)
    chance = (shown + 1) / (people + 2)
    scores = judged.signs @ np.log(chance.T) + (1 - judged.signs) @ np.log(1 - chance.T) + np.log(people.T)
    return int((scores.argmax(axis=1) == judged.ill).sum())


def learnt(epsilon: Fraction, learning: Clinic, judged: Clinic, source: Source) -> Point:
    """The mean share of right answers over ROUNDS releases, and where 95 % of such means lie."""
    import numpy as np

    exact, noise = learning.counts(), mechanism(epsilon)
    found = np.array([correct(noise.sample(exact, source), judged) / TESTED for _ in range(ROUNDS)])
    slack = 2.09 * float(found.std(ddof=1)) / ROUNDS**0.5
    middle = float(found.mean())
    return Point(float(epsilon), middle, middle - slack, min(1.0, middle + slack))


def tidied(epsilon: Fraction, source: Source) -> dict[str, tuple[Around, Around, float]]:
    """Small counts released many times and tidied up in each way: the bias of the total, the squared error, negatives left."""
    import numpy as np

    from sfumato.mechanisms import Laplace
    from sfumato.mechanisms.histogram.finish import non_negative, non_negative_of_total

    exact = np.array(COUNTS)
    drawn = Laplace.calibrate(epsilon=epsilon).release(np.tile(exact, RUNS), 1, source=source).value.reshape(RUNS, -1)
    ways = {
        "raw": drawn.astype(float),
        "clipped": np.array([non_negative(cells) for cells in drawn]),
        "total": np.array([non_negative_of_total(cells, max(0.0, float(cells.sum()))) for cells in drawn]),
    }
    found = {}
    for name, cells in ways.items():
        totals, squares = cells.sum(axis=1) - exact.sum(), ((cells - exact) ** 2).sum(axis=1)
        found[name] = mean(totals), mean(squares), float((cells < 0).mean())
    return found


def advised(epsilon: Fraction) -> tuple[tuple[str, str, Advice], ...]:
    """The product's advice on questions that more than one mechanism answers, in English and French words."""
    from sfumato.mechanisms.which import Choice, Queries, Running, Scalar, Stream, which

    return (
        ("one count", "un compte", which(Scalar(), epsilon=epsilon)),
        ("100 counts of one person", "100 comptes d'une même personne", which(Queries(100), epsilon=epsilon)),
        (
            "the same, δ = 10⁻⁶",
            "les mêmes, δ = 10⁻⁶",
            which(Queries(100), epsilon=epsilon, delta=DELTA),
        ),
        ("1 000 of them, δ = 10⁻⁶", "1 000 comptes, δ = 10⁻⁶", which(Queries(1000), epsilon=epsilon, delta=DELTA)),
        ("the most common of 5", "le plus commun de 5", which(Choice(5, monotone=True), epsilon=epsilon)),
        ("the first of 100 above", "le premier de 100 au-dessus", which(Stream(100), epsilon=epsilon)),
        ("100 running totals", "100 totaux cumulés", which(Running(100), epsilon=epsilon)),
    )


def tell(terms: Terms) -> Told:
    """Three answers: a table of finishes in words, a curve of accuracy, a table of advice."""
    from sfumato.core.errors import BadInput

    if terms.epsilon < Fraction(PRICES[0]):
        raise BadInput("nothing is learnt from so few patients at this price", hint="give --epsilon 0.1 or more")
    say, number, percent = terms.say, terms.number, terms.percent
    learning, judged = Clinic.of(PEOPLE, terms.source), Clinic.of(TESTED, terms.source)
    best = share(correct(learning.counts(), judged), TESTED)
    places = sorted({Fraction(each) for each in PRICES} | {terms.epsilon})
    curve = {epsilon: learnt(epsilon, learning, judged, terms.source) for epsilon in places}
    coin = 0.5
    picture = Picture(
        title=say(
            en=f"Learning from {PEOPLE} patients, by what is spent", fr=f"Apprendre de {PEOPLE} patients, selon le prix"
        ),
        told=say(
            en=f"The share of right answers rises from {percent(curve[places[0]].y)} at ε = {number(places[0])} to "
            f"{percent(curve[places[-1]].y)} at ε = {number(places[-1])}, where it is that of exact counts, "
            f"{percent(best[0])}.",
            fr=f"La part de réponses justes monte de {percent(curve[places[0]].y)} à ε = {number(places[0])} jusqu'à "
            f"{percent(curve[places[-1]].y)} à ε = {number(places[-1])}, à comparer à celle des comptes exacts, "
            f"{percent(best[0])}.",
        ),
        x=Axis("ε", scale="log", domain=(float(places[0]) / 1.25, float(places[-1]) * 1.25)),
        y=Axis(say(en="right answers", fr="réponses justes"), domain=(0.4, 0.9), percent=True),
        series=(
            Series(say(en="private counts", fr="comptes privés"), tuple(curve.values()), "dots"),
            Series(
                say(en="exact counts", fr="comptes exacts"),
                tuple(Point(float(epsilon), *best) for epsilon in places),
                "line",
            ),
            Series(
                say(en="tossing a coin", fr="pile ou face"),
                tuple(Point(float(epsilon), coin) for epsilon in places),
                "line",
                exact=True,
            ),
        ),
        bars=say(
            en=f"Bars: 95 % of a mean of {ROUNDS} releases; band: 95 % of a share of {number(TESTED)} patients.",
            fr=f"Barres : 95 % d'une moyenne de {ROUNDS} publications ; bande : 95 % d'une part de {number(TESTED)} "
            "patients.",
        ),
    )
    price = number(terms.epsilon)
    ways = tidied(terms.epsilon, terms.source)
    rows: list[tuple[Cell, ...]] = []
    for english, french, advice in advised(terms.epsilon):
        other = advice.options[1] if len(advice.options) > 1 else None
        rows.append(
            (
                say(en=english, fr=french),
                advice.best.name,
                advice.best.within,
                other.name if other is not None else None,
                other.within if other is not None else None,
            )
        )
    bayes = curve[terms.epsilon]
    assert bayes.low is not None
    assert bayes.high is not None
    return Told(
        says=(
            say(
                en="The note ends on three open questions. Counts should be positive: what of negative ones? The "
                "mechanisms answer one question: are they fit for machine learning, for which the note gives ε in "
                "[0.1, 20]? Which mechanism, when two are possible?",
                fr="La note se termine par trois questions ouvertes. Les comptages doivent être positifs : quid des "
                "valeurs négatives ? Les mécanismes répondent à une requête : conviennent-ils à l'apprentissage "
                "machine, pour lequel la note donne ε dans [0,1 ; 20] ? Quel mécanisme choisir quand deux sont "
                "possibles ?",
            ),
        ),
        formulas=(
            Formula(
                r"\hat h = \arg\min_{x \geq 0, \; \sum x = T} \| x - \tilde h \|_2",
                "ĥ = argmin { |x − h̃|_2 : x ≥ 0, Σ_i x_i = T }",
            ),
            Formula(
                r"\Pr(\text{ill} \mid s) \propto n_1 \prod_j \frac{c_{1j}^{s_j} (n_1 - c_{1j})^{1 - s_j}}{n_1}"
                if terms.lang == "en"
                else r"\Pr(\text{malade} \mid s) \propto n_1 \prod_j \frac{c_{1j}^{s_j} (n_1 - c_{1j})^{1 - s_j}}{n_1}",
                "P(ill | s) ∝ n_1 Π_j (c_{1j}/n_1 if s_j = 1, 1 − c_{1j}/n_1 if not)"
                if terms.lang == "en"
                else "P(malade | s) ∝ n_1 Π_j (c_{1j}/n_1 si s_j = 1, 1 − c_{1j}/n_1 sinon)",
            ),
        ),
        found=(
            say(
                en=f"Negative counts. At ε = {price}, {percent(ways['raw'][2])} of the cells of a small histogram come "
                "out negative. As they are, they are right on average, and sums of them too (bias of the total: "
                f"{spoken(terms, ways['raw'][0])}). max(0, ·) lowers the squared error, from "
                f"{spoken(terms, ways['raw'][1])} to {spoken(terms, ways['clipped'][1])}, but adds "
                f"{spoken(terms, ways['clipped'][0])} people to the total. The nearest histogram of 0 or more with "
                f"the noisy total errs by {spoken(terms, ways['total'][1])} and adds "
                f"{spoken(terms, ways['total'][0])}. So: keep the raw numbers to compute with, tidy up what is shown; "
                "both are post-processing and free. The product's answers carry both, `value` and `unbiased`.",
                fr=f"Valeurs négatives. À ε = {price}, {percent(ways['raw'][2])} des cases d'un petit histogramme "
                "sortent négatives. Telles quelles, elles sont justes en moyenne, et leurs sommes aussi (biais du "
                f"total : {spoken(terms, ways['raw'][0])}). max(0, ·) réduit l'erreur quadratique, de "
                f"{spoken(terms, ways['raw'][1])} à {spoken(terms, ways['clipped'][1])}, mais ajoute "
                f"{spoken(terms, ways['clipped'][0])} personnes au total. L'histogramme positif le plus proche, au "
                f"total bruité, se trompe de {spoken(terms, ways['total'][1])} et ajoute "
                f"{spoken(terms, ways['total'][0])}. Donc : garder les nombres bruts pour calculer, arranger ce qu'on "
                "montre ; les deux sont du post-traitement, et gratuits. Les réponses du produit portent les deux, "
                "`value` et `unbiased`.",
            ),
            say(
                en="Machine learning. What a model learns from is often sums over people, and then these mechanisms "
                f"do: naive Bayes needs {2 * (SIGNS + 1)} counts, of which one patient moves {SIGNS + 1}. Learnt once "
                f"from {PEOPLE} patients at ε = {price}, it is right for {percent(bayes.y)} of {number(TESTED)} "
                f"others (95 % of such means: {percent(bayes.low)} to {percent(bayes.high)}); exact counts give "
                f"{percent(best[0])}. Judging others then costs nothing more. Where learning goes in many steps, "
                "noise is added to the mean gradient of each, and the steps compose; that is why ε is so much larger "
                "there.",
                fr="Apprentissage machine. Ce dont un modèle apprend est souvent une somme sur des personnes, et alors "
                f"ces mécanismes conviennent : un Bayes naïf a besoin de {2 * (SIGNS + 1)} comptes, dont un patient "
                f"déplace {SIGNS + 1}. Appris une fois de {PEOPLE} patients à ε = {price}, il juge bien "
                f"{percent(bayes.y)} de {number(TESTED)} autres (95 % de telles moyennes : de {percent(bayes.low)} à "
                f"{percent(bayes.high)}) ; des comptes exacts donnent {percent(best[0])}. Juger les autres ne coûte "
                "ensuite plus rien. Quand on apprend en beaucoup de pas, on bruite le gradient moyen de chacun, et les "
                "pas se composent ; voilà pourquoi ε y est tellement plus grand.",
            ),
            say(
                en="Which mechanism? The one that errs least among those that keep the promise, for what is asked. The "
                "product calibrates all that are possible and compares: the table is its advice (`sfumato which`). "
                "A name is chosen, not blurred; a first crossing is cheaper than all the numbers; a small δ helps as "
                "soon as one person moves many numbers.",
                fr="Quel mécanisme ? Celui qui se trompe le moins parmi ceux qui tiennent la promesse, pour ce qui est "
                "demandé. Le produit calibre tous ceux qui sont possibles et compare : le tableau est son conseil "
                "(`sfumato which`). Un nom se choisit, il ne se brouille pas ; un premier dépassement coûte moins que "
                "tous les nombres ; un petit δ aide dès qu'une personne déplace beaucoup de nombres.",
            ),
        ),
        chart=Slides.one(picture),
        table=Table(
            (
                say(en="what is asked", fr="ce qui est demandé"),
                say(en="best mechanism", fr="meilleur mécanisme"),
                "± 95 %",
                say(en="the next", fr="le suivant"),
                "± 95 %",
            ),
            tuple(rows),
            caption=say(
                en=f"The product's advice at ε = {price}; δ = 0 unless said",
                fr=f"Le conseil du produit à ε = {price} ; δ = 0 sauf mention",
            ),
        ),
        question=say(
            en="Somebody tries three mechanisms on the real table and publishes the answer that looks best. What is "
            "wrong, when each of the three keeps ε?",
            fr="Quelqu'un essaie trois mécanismes sur la vraie base et publie la réponse qui a la meilleure allure. "
            "Qu'est-ce qui ne va pas, quand chacun des trois tient ε ?",
        ),
        answer=(
            say(
                en="Three answers were computed, so 3ε was spent, even though one is shown: which one was shown "
                "depends on all three. A mechanism is chosen by its error, which is public and known before anything "
                "is asked; that is what the table compares.",
                fr="Trois réponses ont été calculées : 3ε ont donc été dépensés, même si une seule est montrée, car "
                "laquelle dépend des trois. Un mécanisme se choisit d'après son erreur, qui est publique et connue "
                "avant toute requête ; c'est elle que compare le tableau.",
            ),
        ),
        remark=(
            say(
                en="The note says that counting mechanisms “must return positive values only”. They need not: a "
                "negative noisy count is no fault but the trace of unbiased noise, and cutting it off is a choice with "
                f"a price, here {spoken(terms, ways['clipped'][0])} people too many in a total of {sum(COUNTS)}.",
                fr="La note dit que les mécanismes de comptage « ne doivent renvoyer que des valeurs positives ». Rien "
                "n'y oblige : un compte bruité négatif n'est pas une faute, mais la trace d'un bruit sans biais, et le "
                f"couper est un choix qui a un prix, ici {spoken(terms, ways['clipped'][0])} personnes de trop sur un "
                f"total de {sum(COUNTS)}.",
            ),
            say(
                en="Its ranges of ε, [0.001, 1] for statistics and [0.1, 20] for machine learning, are habits, not "
                f"promises: exp(20) is above {terms.power(20)}, and a likelihood ratio of that size protects nobody by "
                "itself.",
                fr="Ses plages pour ε, [0,001 ; 1] pour la statistique et [0,1 ; 20] pour l'apprentissage, sont des "
                f"habitudes, non des promesses : exp(20) dépasse {terms.power(20)}, et un rapport de vraisemblance "
                "de cette taille ne protège personne à lui seul.",
            ),
        ),
    )


def spoken(terms: Terms, measured: Around) -> str:
    """A measured mean inside a sentence."""
    return f"{terms.number(measured.value)} ± {terms.number(measured.within, 2)}"


LESSON = Lesson(
    name="questions",
    note="004",
    section=Words("Open questions", "Questions ouvertes"),
    title=Words("Three open questions", "Trois questions ouvertes"),
    minutes=30,
    tell=tell,
    needs=("histogramme", "exponentiel", "composition"),
)
