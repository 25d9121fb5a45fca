"""Schools of Adult through Haar wavelets: is the noise "plus intelligent que l'ajout naïf"? Note 002."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from sfumato.lessons.lesson import Lesson, Terms, Told, Words
from sfumato.show.picture import Axis, Picture, Point, Series, Slides
from sfumato.show.sheet import Around, Cell, Formula, Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.mechanisms import LaplaceHistogram
    from sfumato.mechanisms.histogram.histogram import Histogram
    from sfumato.mechanisms.histogram.workload import Workload
    from sfumato.noise import Source

    Cells = NDArray[np.int64]

BINS = 16
PRICES = {Fraction(1, 100): "1/100", Fraction(1, 10): "1/10", Fraction(1): "1", Fraction(10): "10"}
"""The note's four values of epsilon."""
TIMES = 20
"""The note's repetitions."""
FOOT = 1e-6
"""Where a distance of 0 is drawn: the least other one, a person in the neighbouring school, is 2e-5."""
RUNS = 200
WIDER = tuple(1 << power for power in range(4, 11))
Way = Literal["flat", "optimised", "privelet"]
WAYS: tuple[Way, ...] = ("flat", "optimised", "privelet")


@cache
def schools() -> tuple[Cells, int]:
    """How many people finished each school, Preschool to Doctorate, once rows with a missing mark are out; and how many rows
    there were before. The bins are public: they are not read from the rows. Published, under CC BY 4.0."""
    import numpy as np
    import pyarrow.parquet as parquet

    from sfumato.data import adult_path
    from sfumato.lessons.demo.tables import SCHOOLS, adult

    found = adult()["education"].to_numpy(zero_copy_only=False)
    cells = np.array([int((found == school).sum()) for school in SCHOOLS], dtype=np.int64)
    return cells, parquet.ParquetFile(adult_path()).metadata.num_rows


def histogram(way: Way, epsilon: Fraction) -> Histogram:
    """The product's: noise on each bin; the best it finds for cumulative counts; Haar wavelets."""
    from sfumato.mechanisms import LaplaceHistogram
    from sfumato.mechanisms.histogram.compare import choose
    from sfumato.mechanisms.histogram.flat import Flat
    from sfumato.mechanisms.histogram.privelet import Haar
    from sfumato.mechanisms.histogram.workload import Prefixes

    match way:
        case "flat":
            return LaplaceHistogram.calibrate(strategy=Flat(BINS), epsilon=epsilon)
        case "optimised":
            return choose(Prefixes(BINS), epsilon=epsilon).mechanism
        case "privelet":
            return LaplaceHistogram.calibrate(strategy=Haar(BINS), epsilon=epsilon)


def released(way: Way, epsilon: Fraction, times: int, source: Source) -> Any:
    """Releases of the sealed counts, one a line."""
    import numpy as np

    from sfumato.core.private import Private

    sealed, mechanism = Private(schools()[0]), histogram(way, epsilon)
    return np.array([mechanism.release(sealed, 1, source=source).value for _ in range(times)])


def distances(way: Way, epsilon: Fraction, source: Source) -> tuple[float, float, float]:
    """The mean, the least and the greatest Wasserstein distance of the note's twenty repetitions."""
    from sfumato.mechanisms.histogram.privelet import wasserstein_distance

    found = [wasserstein_distance(schools()[0], cells) for cells in released(way, epsilon, TIMES, source)]
    return sum(found) / TIMES, min(found), max(found)


def questions() -> dict[str, Workload]:
    """Every bin, every range of neighbouring bins, every cumulative count."""
    from sfumato.mechanisms.histogram.workload import Bins, Prefixes, Ranges

    return {"bins": Bins(BINS), "ranges": Ranges(BINS), "prefixes": Prefixes(BINS)}


def asked(name: str, cells: Any) -> Any:
    """The answers to all questions of this name, from cells one histogram a line."""
    import numpy as np

    sums = np.concatenate([np.zeros((len(cells), 1)), np.cumsum(cells, axis=1)], axis=1)
    match name:
        case "bins":
            return cells
        case "prefixes":
            return sums[:, 1:]
        case _:
            first, last = np.triu_indices(BINS + 1, k=1)
            return sums[:, last] - sums[:, first]


def measured(name: str, errors: Any) -> Around:
    """The root of the mean square over all questions, and 95 % of it among the runs."""

    squares = (asked(name, errors) ** 2).mean(axis=1)
    root = float(squares.mean()) ** 0.5
    return Around(root, 1.96 * float(squares.std(ddof=1)) / len(squares) ** 0.5 / (2 * root) if root else 0.0)


def spent(scales: Any, *, moved: bool = False) -> float:
    """The epsilon that Laplace noise of these scales on the coefficients keeps: one more person in the worst bin; with `moved`,
    one person who goes from a bin to another."""
    import numpy as np

    from sfumato.mechanisms.histogram.privelet import haar_wavelet_transform

    units = np.array([haar_wavelet_transform(unit) for unit in np.eye(BINS)])
    if moved:
        units = (units[:, None, :] - units[None, :, :]).reshape(-1, BINS)
    return float((np.abs(units) / scales).sum(axis=1).max())


def deviation(scales: Any) -> float:
    """The standard deviation of the worst bin under Laplace noise of these scales on the coefficients."""
    import numpy as np

    from sfumato.mechanisms.histogram.privelet import inverse_haar_wavelet_transform

    back = np.array([inverse_haar_wavelet_transform(unit) for unit in np.eye(BINS)])
    return float(np.sqrt((2 * (back * np.asarray(scales)[:, None]) ** 2).sum(axis=0).max()))


def on_ranges(bins: int) -> tuple[float, float]:
    """The expected error of a range of so many bins at epsilon 1, flat and Privelet."""
    from sfumato.mechanisms import LaplaceHistogram
    from sfumato.mechanisms.histogram.compare import mean_variance
    from sfumato.mechanisms.histogram.flat import Flat
    from sfumato.mechanisms.histogram.privelet import Haar
    from sfumato.mechanisms.histogram.workload import Ranges

    def error(strategy: Any) -> float:
        mechanism: LaplaceHistogram = LaplaceHistogram.calibrate(strategy=strategy, epsilon=1)
        return float(mean_variance(mechanism, Ranges(bins)) ** 0.5)

    return error(Flat(bins)), error(Haar(bins))


def tell(terms: Terms) -> Told:
    """The note's study, beside noise without wavelets; then one bin and a range of bins apart."""
    from sfumato.lessons.demo.tables import SCHOOLS
    from sfumato.mechanisms.histogram.compare import mean_variance
    from sfumato.mechanisms.histogram.privelet import compute_whaar_weights

    say, number, epsilon = terms.say, terms.number, terms.epsilon
    price = number(epsilon)
    cells, before = schools()
    called = {
        "flat": say(en="Laplace on each bin", fr="Laplace sur chaque classe"),
        "optimised": say(en="optimised strategy", fr="stratégie optimisée"),
        "privelet": "Privelet",
    }
    study = {(way, each): distances(way, each, terms.source) for way in WAYS for each in PRICES}
    series = tuple(
        Series(
            called[way],
            tuple(Point(name, *(max(FOOT, seen) for seen in study[way, each])) for each, name in PRICES.items()),
        )
        for way in WAYS
    )
    ratio = study["privelet", Fraction(1)][0] / study["flat", Fraction(1)][0]
    near, far = study["privelet", Fraction(1, 100)], study["privelet", Fraction(10)]
    fall, better = near[0] / far[0], sum(study["flat", each][0] < study["privelet", each][0] for each in PRICES)
    picture = Picture(
        title=say(en="Wasserstein distance to the true histogram", fr="Distance de Wasserstein à l'histogramme vrai"),
        told=say(
            en=f"From ε = 0.01 to ε = 10 Privelet's distance is divided by {number(fall, 2)}; at ε = 1 its mean is "
            f"{number(ratio, 2)} times that of Laplace noise on each bin.",
            fr=f"De ε = 0,01 à ε = 10, la distance de Privelet est divisée par {number(fall, 2)} ; à ε = 1, sa "
            f"moyenne vaut {number(ratio, 2)} fois celle du bruit de Laplace sur chaque classe.",
        ),
        x=Axis("ε", scale="names"),
        y=Axis(say(en="distance, in schools", fr="distance, en niveaux"), scale="log", domain=(FOOT, 1)),
        series=series,
        bars=say(
            en=f"Points: means of {TIMES} releases. Bars: the least and the greatest. 0 is drawn at 10⁻⁶.",
            fr=f"Points : moyennes de {TIMES} publications. Barres : minimum et maximum. 0 est placé à 10⁻⁶.",
        ),
    )
    asks = {
        "bins": say(en="one bin", fr="une classe"),
        "ranges": say(en="a range of bins", fr="un intervalle de classes"),
        "prefixes": say(en="a cumulative count", fr="un effectif cumulé"),
    }
    root = {
        (name, way): mean_variance(histogram(way, epsilon), each) ** 0.5
        for name, each in questions().items()
        for way in WAYS
    }
    errors = {way: released(way, epsilon, RUNS, terms.source) - cells for way in WAYS}
    rows: list[tuple[Cell, ...]] = [
        (asks[name], called[way], expected, measured(name, errors[way])) for (name, way), expected in root.items()
    ]
    wins = next(bins for bins in WIDER if on_ranges(bins)[0] > on_ranges(bins)[1])
    flat, wavelets = on_ranges(wins)
    weights = compute_whaar_weights(BINS)
    turned, bare, right = weights, 1 / weights, (1 + (BINS - 1).bit_length()) / weights
    excess = deviation(turned) / (deviation(right) / spent(turned))
    bin_flat, bin_wave = root["bins", "flat"], root["bins", "privelet"]
    range_flat, range_wave = root["ranges", "flat"], root["ranges", "privelet"]
    return Told(
        says=(
            say(
                en="The schools of Adult are counted, once rows with missing marks are out. Instead of noise on the "
                "counts, Privelet takes the histogram's Haar transform: its mean, then at every halving half the "
                "difference of the halves' means. Noise goes on these coefficients, according to their weights, and "
                "the transform is undone. Twenty repetitions at each of four values of ε, measured by the Wasserstein "
                "distance, “confirm that the Haar transform allows a more intelligent addition of noise than the "
                "naive one”.",
                fr="On compte les niveaux d'études d'Adult, une fois retirées les lignes incomplètes. Au lieu de "
                "bruiter les effectifs, Privelet prend la transformée de Haar de l'histogramme : sa moyenne, puis à "
                "chaque division en deux la demi-différence des moyennes des moitiés. On bruite ces coefficients, "
                "selon leurs poids, puis on inverse la transformée. Vingt répétitions pour chacune des quatre valeurs "
                "de ε, mesurées par la distance de Wasserstein, confirment que « la transformée Haar permet un ajout "
                "plus intelligent de bruit que l'ajout naïf ».",
            ),
        ),
        formulas=(
            Formula(
                r"c_0 = \frac{1}{m} \sum_j h_j, \qquad c = \frac{\overline{h}_{\text{left}} - "
                r"\overline{h}_{\text{right}}}{2}, \qquad \tilde c = c + "
                r"\mathrm{Lap}\left(\frac{1 + \log_2 m}{W(c) \, \varepsilon}\right)",
                "c_0 = mean of h,   c = (mean of left half − mean of right half)/2,   c̃ = c + Lap((1 + log_2 "
                "m)/(W(c) ε))"
                if terms.lang == "en"
                else "c_0 = moyenne de h,   c = (moyenne à gauche − moyenne à droite)/2,   c̃ = c + Lap((1 + log_2 m)/(W(c) ε))",
            ),
            Formula(r"W_1(h, \tilde h) = \sum_i |F_i - \tilde F_i|", "W_1(h, h̃) = Σ_i |F_i − F̃_i|"),
        ),
        found=(
            say(
                en=f"Of {number(before)} rows, {number(int(cells.sum()))} have no “?”. They fall into {BINS} schools, "
                f"in their order from {SCHOOLS[0]} to {SCHOOLS[-1]}, as written down beforehand; {BINS} is a power of "
                "two, so `pad_to_power_of_two` adds nothing here. Privelet's mean distance goes from "
                f"{number(near[0])} schools at ε = 0.01 ({number(near[1])} to {number(near[2])}) to {number(far[0])} "
                "at ε = 10: the trade-off that the note found. Noise on each bin, which the note did not try, does "
                f"better at {better} of {len(PRICES)}: at ε = 1 Privelet's distance is {number(ratio, 2)} times as "
                "large.",
                fr=f"Sur {number(before)} lignes, {number(int(cells.sum()))} ne portent aucun point d'interrogation. "
                f"Elles se répartissent en {BINS} niveaux d'études, dans leur ordre, de {SCHOOLS[0]} à {SCHOOLS[-1]}, "
                f"écrit d'avance ; {BINS} est une puissance de deux, et `pad_to_power_of_two` n'ajoute donc rien ici. "
                f"La distance moyenne de Privelet passe de {number(near[0])} niveau à ε = 0,01 ({number(near[1])} à "
                f"{number(near[2])}) à {number(far[0])} à ε = 10 : c'est le compromis que la note a trouvé. Le bruit "
                f"sur chaque classe, que la note n'a pas essayé, fait mieux pour {better} valeurs de ε sur "
                f"{len(PRICES)} : à ε = 1, la distance de Privelet vaut {number(ratio, 2)} fois la sienne.",
            ),
            say(
                en="The table takes bins and ranges apart. Wavelets are made for long ranges: a range of any length "
                "cuts few blocks, where noise on each bin adds up. But each person pays for 1 + log_2 16 = 5 "
                f"coefficients, and 16 bins are too few to earn that back: {number(bin_wave)} against "
                f"{number(bin_flat)} on a bin, {number(range_wave)} against {number(range_flat)} on a range. On all "
                f"ranges, Privelet wins from {wins} bins on (at ε = 1, {number(wavelets)} against {number(flat)}). The "
                "optimised strategy, which the product searched for cumulative counts before it saw any row, is the "
                "one to take for those.",
                fr="Le tableau sépare classes et intervalles. Les ondelettes sont faites pour les longs intervalles "
                ": un intervalle, si long soit-il, coupe peu de blocs, alors que le bruit de chaque classe s'ajoute. "
                "Mais chaque personne paie pour 1 + log_2 16 = 5 coefficients, et 16 classes sont trop peu pour y "
                f"gagner : {number(bin_wave)} contre {number(bin_flat)} pour une classe, {number(range_wave)} contre "
                f"{number(range_flat)} pour un intervalle. Sur tous les intervalles, Privelet l'emporte à partir de "
                f"{wins} classes (à ε = 1, {number(wavelets)} contre {number(flat)}). La stratégie optimisée, que le "
                "produit a cherchée pour les effectifs cumulés avant d'avoir vu la moindre ligne, est celle à "
                "prendre pour ceux-ci.",
            ),
            say(
                en="The note's six functions are in `sfumato.mechanisms.histogram.privelet` under their names; "
                "`add_laplace_noise` is the product's own release, seen as coefficients.",
                fr="Les six fonctions de la note sont dans `sfumato.mechanisms.histogram.privelet` sous leurs noms ; "
                "`add_laplace_noise` est la publication du produit elle-même, vue comme coefficients.",
            ),
        ),
        chart=Slides.one(picture),
        table=Table(
            (
                say(en="question", fr="question"),
                say(en="noise", fr="bruit"),
                say(en="expected error", fr="erreur attendue"),
                say(en="measured", fr="mesurée"),
            ),
            tuple(rows),
            caption=say(
                en=f"Errors in people (root of the mean square), ε = {price}; measured on {RUNS} releases, ± 95 %",
                fr=f"Erreurs en personnes (racine du carré moyen), ε = {price} ; mesurées sur {RUNS} publications, ± "
                "95 %",
            ),
        ),
        question=say(
            en="Is it “more intelligent than naive noise”? For which questions, and from how many bins on?",
            fr="Est-ce « plus intelligent que l'ajout naïf » ? Pour quelles questions, et à partir de combien de "
            "classes ?",
        ),
        answer=(
            say(
                en="Not on 16 schools: neither for a school nor for a range of schools. The variance of a range "
                "grows like its length under noise on each bin, like the cube of log m under Privelet, so that many "
                f"bins and long ranges are its case, from {wins} bins on average. “Intelligent” is a matter of the "
                "workload; the product computes the expected error of each strategy beforehand, at no cost, and "
                "takes the least.",
                fr="Pas sur 16 niveaux : ni pour un niveau, ni pour un intervalle de niveaux. La variance d'un "
                "intervalle croît comme sa longueur si l'on bruite chaque classe, comme le cube de log m avec "
                f"Privelet : beaucoup de classes et de longs intervalles, voilà son domaine, à partir de {wins} "
                "classes en moyenne. « Intelligent » dépend des questions posées ; le produit calcule d'avance "
                "l'erreur attendue de chaque stratégie, sans rien dépenser, et prend la moindre.",
            ),
        ),
        remark=(
            say(
                en="The noise is not “proportional to the weight of the coefficient” but inversely proportional: "
                f"with Lap(W/ε) and ε = 1 the release keeps {number(spent(turned))}, yet a bin errs by "
                f"{number(deviation(turned))} where the right scales give {number(deviation(right) / spent(turned))} "
                f"at the same price: {number(excess, 2)} times too much. Turned around, Lap(1/(W ε)) without the "
                f"factor 1 + log_2 m keeps {number(spent(bare))} instead of 1, and {number(spent(bare, moved=True))} "
                "when a person may change schools.",
                fr="Le bruit n'est pas « proportionnel au poids du coefficient » mais inversement proportionnel : "
                f"avec Lap(W/ε) et ε = 1, la publication garantit {number(spent(turned))}, mais une classe a une "
                f"erreur de {number(deviation(turned))} là où les bonnes échelles donnent "
                f"{number(deviation(right) / spent(turned))} au même prix : {number(excess, 2)} fois trop. Retourné, "
                f"Lap(1/(W ε)) sans le facteur 1 + log_2 m garantit {number(spent(bare))} au lieu de 1, et "
                f"{number(spent(bare, moved=True))} si une personne peut changer de niveau.",
            ),
            say(
                en="`wasserstein_distance(u, v)` of scipy takes two samples. Given two histograms it compares the "
                "lists of counts: the true histogram and the same one from right to left are at distance "
                f"{number(of_lists(cells))} for it, and {number(of_places(cells))} schools apart in truth. Schools "
                "must also stand in their order: by the alphabet 10th comes before 9th, and ranges mean nothing; and "
                "categories taken from the rows themselves (`value_counts`) say which schools somebody attended.",
                fr="`wasserstein_distance(u, v)` de scipy prend deux échantillons. Appelée sur deux histogrammes, "
                "elle compare les listes d'effectifs : l'histogramme vrai et le même lu de droite à gauche sont pour "
                f"elle à distance {number(of_lists(cells))}, alors que {number(of_places(cells))} niveaux les "
                "séparent. Les niveaux doivent aussi être rangés dans leur ordre : selon l'alphabet, 10th précède "
                "9th, et les intervalles ne veulent rien dire ; et des catégories tirées des lignes elles-mêmes "
                "(`value_counts`) révèlent quels niveaux existent.",
            ),
        ),
    )


def of_lists(cells: Cells) -> float:
    """What scipy's function says of a histogram and its mirror image: the distance between two samples of counts."""
    import numpy as np

    return float(np.abs(np.sort(cells) - np.sort(cells[::-1])).mean())


def of_places(cells: Cells) -> float:
    """How far mass is carried from a histogram to its mirror image."""
    from sfumato.mechanisms.histogram.privelet import wasserstein_distance

    return wasserstein_distance(cells, cells[::-1])


LESSON = Lesson(
    name="privelet",
    note="002",
    section=Words("parts II and III", "parties II et III"),
    title=Words("Wavelets, or noise on each bin?", "Des ondelettes, ou du bruit sur chaque classe ?"),
    minutes=40,
    tell=tell,
    needs=("histogramme",),
    toy=False,
)
