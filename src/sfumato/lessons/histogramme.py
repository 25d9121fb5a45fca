"""Ages of Adult with noise; "pourquoi max(0, ·) ?"; and what somebody who knows everybody else makes of it. Note 004."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from sfumato.lessons.frequency import mean, share
from sfumato.lessons.lesson import Lesson, Terms, Told, Words
from sfumato.show.picture import Axis, Picture, Point, Series
from sfumato.show.sheet import Around, Cell, Formula, Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.mechanisms import LaplaceHistogram
    from sfumato.mechanisms.histogram.axis import Edges
    from sfumato.noise import Source

    Cells = NDArray[np.int64]

SMALL = Fraction(1, 100)
"""The note's epsilon."""
BINS = 12
OLDEST = 120
"""Public edges, every ten years from 0 to 120: nobody's age is among them."""
RUNS = 400
GUESSES = 20_000
NEWCOMER = 95


@cache
def ages() -> NDArray[np.int64]:
    """The ages of `adult.data`, the table that the note reads: published, under CC BY 4.0."""
    import pyarrow.parquet as parquet

    from sfumato.data import ADULT_TRAIN_ROWS, adult_path

    found: NDArray[np.int64] = parquet.read_table(adult_path(), columns=["age"])["age"].to_numpy()[:ADULT_TRAIN_ROWS]
    return found.astype("int64")


def edges() -> Edges:
    """The product's bins."""
    from sfumato.mechanisms.histogram.axis import Edges

    return Edges.even(0, OLDEST, BINS)


def counted() -> Cells:
    """How many people there are between public edges."""
    import numpy as np

    found, _ = np.histogram(ages(), bins=np.asarray(edges().edges))
    return found.astype(np.int64)


def histogram(epsilon: Fraction) -> LaplaceHistogram:
    """The product's flat histogram: one person moves one bin by one."""
    from sfumato.mechanisms import LaplaceHistogram
    from sfumato.mechanisms.histogram.flat import Flat

    return LaplaceHistogram.calibrate(strategy=Flat(BINS), epsilon=epsilon)


def released(epsilon: Fraction, source: Source) -> Any:
    """One release of the sealed counts."""
    from sfumato.core.private import Private

    return histogram(epsilon).release(Private(counted()), 1, source=source).value


def moved_by(newcomer: int) -> int:
    """By how much the counts between the note's edges move in all when one more person comes: the edges move too."""
    import numpy as np

    before, _ = np.histogram(ages())
    after, _ = np.histogram(np.append(ages(), newcomer))
    return int(np.abs(before - after).sum())


def detective(epsilon: Fraction, source: Source) -> tuple[float, float, float]:
    """How often somebody who knows every other age is right about whether one person is in the table.

    A coin says whether the person is there. The guess is the best one: "there" when the noisy count of the person's bin is
    above that of all others.
    """
    import numpy as np

    from sfumato.core.private import Private
    from sfumato.mechanisms import Laplace
    from sfumato.noise import uniform_below

    others = int(counted()[3])
    there = uniform_below(2, GUESSES, source=source)
    seen = Laplace.calibrate(epsilon=epsilon).release(Private(others + there), 1, source=source).value
    return share(int(np.sum((seen > others) == (there == 1))), GUESSES)


def finished(epsilon: Fraction, source: Source) -> dict[str, tuple[Any, Around]]:
    """For each way of finishing: the bias of every bin, and the mean squared error of a bin, over RUNS releases.

    The totals that a finish is given are the noisy ones: the true one is not public.
    """
    import numpy as np

    from sfumato.mechanisms.histogram.finish import non_negative, non_negative_of_total

    exact = counted()
    draws = [released(epsilon, source) for _ in range(RUNS)]
    ways: dict[str, Callable[[Any], Any]] = {
        "raw": lambda cells: np.asarray(cells, dtype=float),
        "clipped": non_negative,
        "total": lambda cells: non_negative_of_total(cells, max(0.0, float(cells.sum()))),
    }
    found = {}
    for name, way in ways.items():
        errors = np.array([way(cells) for cells in draws]) - exact
        found[name] = errors, mean((errors**2).mean(axis=1))
    return found


def tell(terms: Terms) -> Told:
    """The ages at several prices, what clipping does, and the best guess about one person."""
    import numpy as np

    from sfumato.mechanisms.histogram.finish import clipping_bias, non_negative

    say, number, percent = terms.say, terms.number, terms.percent
    exact = counted()
    names = [f"{low}–{low + OLDEST // BINS}" for low in range(0, OLDEST, OLDEST // BINS)]

    def draw(epsilon: Fraction) -> Picture:
        noisy, width, price = released(epsilon, terms.source), histogram(epsilon).within("0.95"), number(epsilon)
        clipped = non_negative(noisy)
        below = int((noisy < 0).sum())
        return Picture(
            title=say(en=f"Ages in Adult, ε = {price}", fr=f"Les âges dans Adult, ε = {price}"),
            told=say(
                en=f"Noise of ±{number(width)} (95 %) on counts of up to {number(int(exact.max()))}; noisy "
                f"counts that were below 0, and are raised to 0: {below} of {BINS}.",
                fr=f"Un bruit de ±{number(width)} (95 %) sur des effectifs allant jusqu'à {number(int(exact.max()))} ; "
                f"nombre d'effectifs bruités négatifs et relevés à 0 : {below} sur {BINS}.",
            ),
            x=Axis(say(en="age", fr="âge"), scale="names"),
            y=Axis(say(en="people", fr="personnes"), domain=(-4000, 12_000)),
            series=(
                Series(
                    say(en="published table", fr="base publiée"),
                    tuple(Point(name, int(count)) for name, count in zip(names, exact, strict=True)),
                    "bars",
                    exact=True,
                ),
                Series(
                    say(en="with noise, then max(0, ·)", fr="avec bruit, puis max(0, ·)"),
                    tuple(
                        Point(name, float(after), max(-4000, float(raw) - width), min(12_000, float(raw) + width))
                        for name, raw, after in zip(names, noisy, clipped, strict=True)
                    ),
                    "dots",
                ),
            ),
            bars=say(
                en="Bars: where the exact count lies at 95 %, from the noise before max(0, ·); cut off at the frame.",
                fr="Barres : où se trouve l'effectif exact à 95 %, d'après le bruit avant max(0, ·) ; coupées au "
                "cadre.",
            ),
        )

    chart = terms.slides(draw, at=("0.001", "0.01", "0.1", "1"))
    price = number(terms.epsilon)
    empty = exact == 0
    ways = finished(terms.epsilon, terms.source)
    variance = histogram(terms.epsilon).variance(np.eye(1, BINS)[0])

    def line(name: str, en: str, fr: str) -> tuple[Cell, ...]:
        errors, square = ways[name]
        return (
            say(en=en, fr=fr),
            mean(errors[:, empty].mean(axis=1)),
            mean(errors.sum(axis=1)),
            square,
        )

    table = Table(
        (
            say(en="afterwards", fr="ensuite"),
            say(en="bias of an empty bin", fr="biais d'une classe vide"),
            say(en="bias of the total", fr="biais du total"),
            say(en="mean squared error of a bin", fr="erreur quadratique d'une classe"),
        ),
        (
            line("raw", "nothing", "rien"),
            line("clipped", "max(0, ·)", "max(0, ·)"),
            line(
                "total", "the nearest of 0 or more with the noisy total", "le plus proche positif, total bruité gardé"
            ),
        ),
        caption=say(
            en=f"{RUNS} releases, ε = {price}, {int(empty.sum())} of {BINS} bins empty; ± 95 % of a mean",
            fr=f"{RUNS} publications, ε = {price}, {int(empty.sum())} classes vides sur {BINS} ; ± 95 % d'une moyenne",
        ),
        digits=4,
    )
    right = detective(terms.epsilon, terms.source)
    best = 1 / (1 + np.exp(-float(terms.epsilon)))
    moved = moved_by(NEWCOMER)
    broken = terms.power(terms.epsilon * moved)
    half = number(1 / (2 * float(terms.epsilon)))
    clipped_bias = ways["clipped"][0][:, empty].mean()
    return Told(
        says=(
            say(
                en="A histogram has sensitivity 1: one person changes one bin by 1. So the ages of Adult are "
                "published with Laplace noise of scale 1/ε on each bin, ε = 0.01, and the program keeps max(0, ·) of "
                "each: “pourquoi max... ?” What is done after the release costs nothing; seen as an attack, whatever "
                "else the adversary knows, the guarantee still holds.",
                fr="Un histogramme a une sensibilité de 1 : une personne change une classe de 1. Les âges d'Adult sont "
                "donc publiés avec un bruit de Laplace d'échelle 1/ε sur chaque classe, ε = 0,01, et le programme "
                "garde max(0, ·) de chacune : « pourquoi max... ? » Ce qu'on fait après la publication ne coûte rien ; "
                "vu comme une attaque, quoi que sache l'adversaire par ailleurs, la garantie tient toujours.",
            ),
        ),
        formulas=(
            Formula(
                r"\tilde h_i = \max(0, h_i + \mathrm{Lap}(1/\varepsilon))",
                "h̃_i = max(0, h_i + Lap(1/ε))",
            ),
            Formula(
                r"\Pr[f(M(D_1)) \in S] = \Pr[M(D_1) \in f^{-1}(S)] \leq e^{\varepsilon} \Pr[f(M(D_2)) \in S]",
                "P(f(M(D_1)) ∈ S) = P(M(D_1) ∈ f^{−1}(S)) ≤ e^{ε} P(f(M(D_2)) ∈ S)",
            ),
        ),
        found=(
            say(
                en=f"The {number(len(ages()))} ages of `adult.data`, in {BINS} bins whose edges were written down "
                "beforehand, were sealed and released by the product's histogram. Why max? No count is negative, and "
                "a reader should not see one. It costs no privacy, and no accuracy bin by bin: 0 is never further from "
                "the truth than a negative number. The bars still come from the noise before.",
                fr=f"Les {number(len(ages()))} âges de `adult.data`, en {BINS} classes aux bornes écrites d'avance, "
                "ont été scellés puis publiés par l'histogramme du produit. Pourquoi max ? Aucun effectif n'est "
                "négatif, et un lecteur ne devrait pas en voir. Cela ne coûte rien en confidentialité, ni en "
                "précision classe par classe : 0 n'est jamais plus loin du vrai qu'un nombre négatif. Les barres "
                "viennent du bruit d'avant.",
            ),
            say(
                en="But it adds a bias: noise is pushed up where it would go below 0, and never down. An empty bin "
                f"gains {number(float(clipped_bias))} people on average (in theory half the scale, {half}; "
                f"{number(clipping_bias(variance))} for normal noise of this variance), and the total grows with the "
                "number of empty bins. The last line of the table keeps the noisy total: all bins are lowered alike, "
                "then cut off at 0.",
                fr="Mais cela ajoute un biais : le bruit est relevé là où il passerait sous 0, et jamais rabaissé. "
                f"Une classe vide gagne {number(float(clipped_bias))} personnes en moyenne (en théorie la moitié de "
                f"l'échelle, {half} ; {number(clipping_bias(variance))} pour un bruit normal de cette variance), et "
                "le total grossit avec le nombre de classes vides. La dernière ligne du tableau garde le total "
                "bruité : toutes les classes sont abaissées d'autant, puis coupées à 0.",
            ),
            say(
                en="An attack is post-processing too. Somebody knows every age but one, and asks whether a certain "
                "35-year-old is in the table. The best use of all that knowledge is to subtract it. Of "
                f"{number(GUESSES)} trials, {percent(right[0])} were right (95 %: {percent(right[1])} to "
                f"{percent(right[2])}); on average no attack whatever is right in more than 1/(1 + exp(−ε)) = "
                f"{percent(best)}.",
                fr="Une attaque est aussi un post-traitement. Quelqu'un connaît tous les âges sauf un, et se demande "
                "si telle personne de 35 ans est dans la base. Le meilleur usage de tout ce savoir est de le "
                f"soustraire. Sur {number(GUESSES)} essais, {percent(right[0])} ont donné la bonne réponse (95 % : de "
                f"{percent(right[1])} à {percent(right[2])}) ; en moyenne, aucune attaque ne fait mieux que 1/(1 + "
                f"exp(−ε)) = {percent(best)}.",
            ),
        ),
        chart=chart,
        table=table,
        question=say(
            en="A colleague averages fifty clipped histograms of the same table to get rid of the noise. What does the "
            "average of an empty bin tend to?",
            fr="Un collègue fait la moyenne de cinquante histogrammes de la même base, tous passés par max(0, ·), pour "
            "se débarrasser du bruit. Vers quoi tend la moyenne d'une classe vide ?",
        ),
        answer=(
            say(
                en=f"Not to 0, but to the bias: half the scale, 1/(2ε) = {half}. The "
                "noise averages away, the bias does not. Whoever wants to combine releases keeps them as they came, "
                "and finishes last.",
                fr="Non pas vers 0, mais vers le biais : la moitié de l'échelle, 1/(2ε) = "
                f"{half}. Le bruit s'efface dans la moyenne, le biais reste. Qui "
                "veut combiner des publications les garde telles quelles, et les retouche en dernier.",
            ),
        ),
        remark=(
            say(
                en="The edges come from the data: `np.histogram(ages)` takes the youngest and the oldest age, 17 and "
                f"90, and prints them. One more person, {NEWCOMER} years old, moves all the edges: the counts change "
                f"by {number(moved)} in all where the note reckons with 1. Noise of scale 1/ε then lets through a "
                f"likelihood ratio of exp({number(moved)} ε), which is {broken} here, and the new last edge, "
                f"{NEWCOMER}, is published without any noise. The product's edges are public; it refuses to take them "
                "from rows.",
                fr="Les bornes viennent des données : `np.histogram(ages)` prend le plus petit âge et le plus grand, "
                f"17 et 90, et les imprime. Une personne de plus, de {NEWCOMER} ans, déplace toutes les bornes : les "
                f"effectifs changent de {number(moved)} au total, là où la note compte 1. Un bruit d'échelle 1/ε "
                f"laisse alors passer un rapport de vraisemblance de exp({number(moved)} ε), ici {broken}, et la "
                f"nouvelle dernière borne, {NEWCOMER}, est publiée sans aucun bruit. Les bornes du produit sont "
                "publiques ; il refuse de les prendre dans les lignes.",
            ),
            say(
                en="max(0, ·) is right as post-processing; the note asks why and leaves the bias unsaid. Its proof "
                "that what comes afterwards is free holds for functions of the output alone: one that looks at the "
                "rows again, to choose edges or to repair a total, is no post-processing.",
                fr="max(0, ·) est un post-traitement légitime ; la note demande pourquoi et tait le biais. Sa preuve "
                "que la suite est gratuite vaut pour les fonctions de la seule sortie : une fonction qui regarde à "
                "nouveau les lignes, pour choisir des bornes ou réparer un total, n'est pas un post-traitement.",
            ),
        ),
    )


LESSON = Lesson(
    name="histogramme",
    note="004",
    section=Words("Histograms, and post-processing", "Histogrammes et post-traitement"),
    title=Words("Why max(0, ·)?", "Pourquoi max(0, ·) ?"),
    minutes=30,
    tell=tell,
    needs=("laplace",),
    epsilon="0.01",
    toy=False,
)
