"""Nine deciles, three ways: the histogram method, inverse sensitivity, all at once; and what was proved of them. Note 003."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import log
from typing import TYPE_CHECKING, Any, Literal

from sfumato.lessons.frequency import share
from sfumato.lessons.lesson import Lesson, Terms, Told, Words
from sfumato.show.picture import Axis, Picture, Point, Series
from sfumato.show.sheet import Around, Cell, Formula, Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.sensitivity import Sensitivity
    from sfumato.noise import Source

    Rows = NDArray[np.int64]

POINTS = 1 << 20
"""Points of the public lattice on [0, 1), and on [-8, 8)."""
ROWS = 1000
BINS = 100
RUNS = 30
"""Tables, each released once by each method: the law's deciles are missed because of the sample too."""
WIDTH = {"uniform": (0, 1), "normal": (-8, 16)}
"""Each public range: its left end, and its width."""
FOOT = 1e-4
MANY = 20_000
Law = Literal["uniform", "normal"]
Way = Literal["histogram", "inverse", "joint"]
LAWS: tuple[Law, ...] = ("uniform", "normal")
WAYS: tuple[Way, ...] = ("histogram", "inverse", "joint")
NINE = tuple(Fraction(decile, 10) for decile in range(1, 10))


def replaced() -> Sensitivity:
    """One row is replaced, as in note 003: how many there are is public."""
    from sfumato.core.neighbours import Neighbours
    from sfumato.core.sensitivity import Sensitivity

    return Sensitivity.of_cells(2, 1, about=Neighbours.REPLACE)


def drawn(law: Law, rows: int, source: Source) -> Rows:
    """A made-up table, in order, as places on the lattice."""
    import numpy as np
    from scipy.special import ndtri

    from sfumato.noise import uniform_below

    places = np.sort(uniform_below(POINTS, rows, source=source))
    if law == "uniform":
        return places
    low, width = WIDTH[law]
    return np.asarray((ndtri((places + 0.5) / POINTS) - low) / width * POINTS).astype(np.int64)


def values(law: Law, places: Any) -> Any:
    """Lattice points as numbers."""
    import numpy as np

    low, width = WIDTH[law]
    return low + np.asarray(places) / POINTS * width


def of_law(law: Law) -> list[float]:
    """The law's deciles."""
    from sfumato.lessons.theorems import normal_decile

    return [float(q) if law == "uniform" else normal_decile(decile=round(10 * q)) for q in NINE]


def released(way: Way, epsilon: Fraction, source: Source) -> Callable[[Rows], list[int]]:
    """The product's mechanism, which finds nine lattice points for epsilon in all."""
    from sfumato.mechanisms import HistogramMethod, InverseSensitivity, JointExponential
    from sfumato.mechanisms.quantile.histogram_method import best_ratio
    from sfumato.mechanisms.quantile.statistic import Quantile
    from sfumato.mechanisms.quantile.tally import Tally

    reach = replaced()
    made: list[Any]
    match way:
        case "histogram":
            asked: dict[str, Any] = {"size": POINTS, "bins": BINS, "quantiles": NINE, "ratio": best_ratio()}
            made = [HistogramMethod.calibrate(epsilon=epsilon, sensitivity=reach, **asked)]
        case "joint":
            made = [JointExponential.calibrate(epsilon=epsilon, sensitivity=reach, size=POINTS, quantiles=NINE)]
        case "inverse":
            made = [
                InverseSensitivity.calibrate(
                    epsilon=epsilon / 9, sensitivity=reach, size=POINTS, statistic=Quantile(q), smooth=POINTS // 1000
                )
                for q in NINE
            ]

    def release(rows: Rows) -> list[int]:
        tally = Tally.of_sorted(rows)
        found = [each.release(tally, reach, source=source).value for each in made]
        return sorted(found) if way == "inverse" else list(found[0])

    return release


def errors(law: Law, way: Way | None, epsilon: Fraction, source: Source, runs: int = RUNS) -> tuple[Any, Any]:
    """For each table and decile, how far from the sample's decile, and from the law's; None is the sample's own."""
    import numpy as np

    release = released(way, epsilon, source) if way else None
    ranks = [-(-q.numerator * ROWS // q.denominator) - 1 for q in NINE]
    tables = [drawn(law, ROWS, source) for _ in range(runs)]
    sample = values(law, np.array([table[ranks] for table in tables]))
    found = values(law, np.array([release(table) for table in tables])) if release else sample
    return np.abs(found - sample), np.abs(found - np.array(of_law(law)))


def around(each: Any) -> Around:
    """The mean over deciles and tables, and its 95 %: tables are independent, the deciles of one are not."""
    means = each.mean(axis=1)
    return Around(float(means.mean()), 1.96 * float(means.std(ddof=1)) / len(means) ** 0.5)


def points(each: Any) -> tuple[Point, ...]:
    """The mean error of each decile and its 95 %."""
    middle, within = each.mean(axis=0), 1.96 * each.std(axis=0, ddof=1) / len(each) ** 0.5
    return tuple(
        Point(place, *(max(FOOT, float(value)) for value in (m, m - w, m + w)))
        for place, (m, w) in enumerate(zip(middle, within, strict=True), 1)
    )


def lefts(rows: int, bins: int, tables: int, source: Source) -> Rows:
    """Rows left of each edge in uniform tables, each counted in one pass over it: n + k steps."""
    import numpy as np

    edges = -(-np.arange(1, bins + 1) * POINTS // bins)
    return np.stack([np.searchsorted(drawn("uniform", rows, source), edges) for _ in range(tables)])


def windows(rows: int, bins: int, epsilon: Fraction, source: Source) -> tuple[float, float, float]:
    """How often the listing, repaired, finds the median of uniform rows within 0.1: 200 runs on four tables."""
    import numpy as np

    from sfumato.lessons.listing import listed

    left = np.repeat(lefts(rows, bins, 4, source), 50, axis=0)
    found = listed(left, rows, epsilon, source, deciles=(5,)) / bins
    return share(int((np.abs(found - 0.5) <= 0.1).sum()), found.size)


def tell(terms: Terms) -> Told:
    """Errors of three methods, to the sample's deciles and to the law's; then the theorems beside what was measured."""
    import numpy as np

    from sfumato.lessons import theorems
    from sfumato.lessons.listing import listed
    from sfumato.show.text import superscript

    say, number, percent, source, epsilon = terms.say, terms.number, terms.percent, terms.source, terms.epsilon
    price = number(epsilon)
    called = {
        "histogram": say(en="histogram method", fr="méthode des histogrammes"),
        "inverse": say(en="inverse sensitivity", fr="sensibilité inverse"),
        "joint": say(en="joint exponential", fr="exponentiel conjoint"),
    }

    here = {(law, way): errors(law, way, epsilon, source) for law in LAWS for way in WAYS}

    def draw(each: Fraction) -> Picture:
        seen = {
            way: (here["uniform", way] if each == epsilon else errors("uniform", way, each, source))[0] for way in WAYS
        }
        means = {way: number(float(seen[way].mean()), 2) for way in WAYS}
        return Picture(
            title=say(
                en=f"Error of each decile, {number(ROWS)} uniform rows, ε = {number(each)} in all",
                fr=f"Erreur de chaque décile, {number(ROWS)} lignes uniformes, ε = {number(each)} en tout",
            ),
            told=say(
                en=f"Mean errors to the sample's deciles: {means['histogram']} by the histogram method, "
                f"{means['inverse']} by inverse sensitivity, {means['joint']} by the joint exponential.",
                fr=f"Erreurs moyennes aux déciles de l'échantillon : {means['histogram']} par la méthode des "
                f"histogrammes, {means['inverse']} par la sensibilité inverse, {means['joint']} par l'exponentiel "
                "conjoint.",
            ),
            x=Axis(say(en="decile", fr="décile"), domain=(1, 9)),
            y=Axis(say(en="mean error", fr="erreur moyenne"), scale="log", domain=(FOOT, 1)),
            series=tuple(Series(called[way], points(seen[way]), "line") for way in WAYS),
            bars=say(
                en=f"Bands: 95 % of a mean over {RUNS} tables.", fr=f"Bandes : 95 % d'une moyenne sur {RUNS} tables."
            ),
        )

    chart = terms.slides(draw, at=("0.1", "1", "4"))
    rows: list[tuple[Cell, ...]] = []
    for law in LAWS:
        named = say(en="uniform", fr="uniforme") if law == "uniform" else say(en="normal", fr="normale")
        for way in WAYS:
            sample, true = here[law, way]
            rows.append((named, called[way], around(sample), around(true)))
        rows.append(
            (
                named,
                say(en="the sample itself", fr="l'échantillon même"),
                None,
                around(errors(law, None, epsilon, source)[1]),
            )
        )

    sure, gamma = Fraction(19, 20), Fraction(1, 10)
    grid = windows(100_000, 3, Fraction(1), source)
    wide = windows(100_000, 100, Fraction(1, 1000), source)
    claims = [
        theorems.histogram_uniform_printed(rows=100_000, bins=k, epsilon=e, confidence=c, gamma=gamma)
        for k, e, c in ((3, Fraction(1), Fraction(99, 100)), (100, Fraction(1, 1000), sure))
    ]
    bound = theorems.histogram_uniform(rows=MANY, bins=BINS, epsilon=epsilon, confidence=sure, gamma=gamma)
    found = listed(lefts(MANY, BINS, RUNS, source), MANY, epsilon, source, deciles=(5,))[:, 0] / BINS
    inside = share(int(((found >= 0.4) & (found <= 0.6 + 1 / BINS)).sum()), RUNS)
    mean_asked: dict[str, Any] = {"rows": MANY, "bins": BINS, "epsilon": epsilon, "confidence": sure, "decile": 5}
    mean, printed_mean = theorems.histogram_mean(**mean_asked), theorems.histogram_mean_printed(**mean_asked)
    digits = (theorems.above_threshold(queries=BINS, epsilon=epsilon, confidence=sure) + log(8 / MANY)) / log(10)
    said_mean = number(printed_mean) if digits < 3 else "10" + superscript(int(digits))
    crowd = theorems.crowded_uniform_printed(rows=ROWS, gamma=gamma, margin=2.0 * ROWS)
    near = [each(rows=ROWS, gamma=gamma) for each in (theorems.empirical_uniform_printed, theorems.empirical_uniform)]
    inverse_asked: dict[str, Any] = {"rows": 10_000, "epsilon": 1, "gamma": "0.1", "u": "0.005", "smooth": "0.001"}
    tails = theorems.inverse_sensitivity_printed(**inverse_asked), theorems.inverse_sensitivity(**inverse_asked)
    slow, fast = 9 * MANY * BINS, MANY + 9 * BINS
    spent = theorems.histogram_price(epsilon=1, low=0, high=300_000, bins=BINS)
    joint, hist = (rows[place][2] for place in (2, 0))
    assert isinstance(joint, Around)
    assert isinstance(hist, Around)
    return Told(
        says=(
            say(
                en="The histogram method cuts a public range [a, b] into k equal steps. For each decile, "
                "AboveThreshold walks along the edges and stops at the first one with enough rows to its left. Nine "
                "calls at ε/9 each. How far off is it: from the deciles of the sample, or from those of the law that "
                "the sample came from? The note bounds the second, for uniform and for normal data, and studies the "
                "inverse sensitivity mechanism, for which a value is the likelier, the fewer rows would have to "
                "change for it to be true.",
                fr="La méthode des histogrammes découpe un intervalle public [a, b] en k pas égaux. Pour chaque "
                "décile, AboveThreshold parcourt les bords et s'arrête au premier qui a assez de lignes à sa gauche. "
                "Neuf appels, à ε/9 chacun. De combien se trompe-t-elle : par rapport aux déciles de l'échantillon, "
                "ou à ceux de la loi dont il vient ? La note majore la seconde erreur, pour des données uniformes "
                "puis normales, et étudie le mécanisme de sensibilité inverse, pour lequel une valeur est d'autant "
                "plus probable qu'il faudrait changer peu de lignes pour qu'elle soit la bonne.",
            ),
        ),
        formulas=(
            Formula(
                r"a = 0 \;\big|\; \tfrac14 \;\big|\; \tfrac24 \;\big|\; \tfrac34 \;\big|\; b = 1",
                "(figure 1)   a = 0 ├────┼ 1/4 ┼────┼ 2/4 ┼────┼ 3/4 ┼────┤ b = 1",
            ),
            Formula(
                r"A_i = a + w \min\{ j : \#\{x < a + j w\} - \tfrac{i}{10} n + \nu_j \geq \rho_i \}, \quad w = (b - a)/k",
                "A_i = a + w · min { j : #{x < a + j w} − i n/10 + ν_j ≥ ρ_i },   w = (b − a)/k",
            ),
            Formula(
                r"\Pr[d - \gamma \leq A \leq d + \gamma + w] \geq 1 - \beta - 2 e^{-\frac{n\gamma}{4} "
                r"(1 - \frac{2\alpha}{n\gamma})^2} - 2 e^{-n\gamma^2/2}, \quad "
                r"\alpha = \frac{72 (\ln k + \ln(2/\beta))}{\varepsilon}",
                "P(d − γ ≤ A ≤ d + γ + w) ≥ 1 − β − 2 e^{−(nγ/4)(1 − 2α/(nγ))²} − 2 e^{−nγ²/2},   α = 72 (ln k + ln(2/β))/ε",
            ),
        ),
        found=(
            say(
                en=f"{RUNS} tables of {number(ROWS)} rows were drawn from each law, on [0, 1] and on [−8, 8], and "
                f"released once by each of the product's three mechanisms at ε = {price} in all. On uniform data the "
                f"histogram method is off by {number(hist.value, 2)} on average, the joint exponential by "
                f"{number(joint.value, 2)}: it looks at all nine at once, and pays once. The histogram method cannot "
                f"be more precise than its steps of 1/{BINS}, which on [−8, 8] are {number(Fraction(16, BINS))} wide.",
                fr=f"{RUNS} tables de {number(ROWS)} lignes ont été tirées selon chaque loi, sur [0, 1] et sur [−8, "
                f"8], puis publiées une fois par chacun des trois mécanismes du produit, à ε = {price} en tout. Sur "
                f"des données uniformes, la méthode des histogrammes se trompe de {number(hist.value, 2)} en moyenne, "
                f"l'exponentiel conjoint de {number(joint.value, 2)} : il regarde les neuf à la fois et ne paie "
                f"qu'une fois. La méthode des histogrammes ne peut être plus précise que ses pas de 1/{BINS}, larges "
                f"de {number(Fraction(16, BINS))} sur [−8, 8].",
            ),
            say(
                en="The last column of the table is the error to the law's deciles. Where a mechanism is good, it is "
                "that of the sample itself, with which privacy has nothing to do: noise well below the sampling error "
                "is not seen.",
                fr="La dernière colonne du tableau est l'erreur aux déciles de la loi. Quand un mécanisme est bon, "
                "c'est celle de l'échantillon lui-même, où la confidentialité n'est pour rien : un bruit bien "
                "inférieur à l'erreur d'échantillonnage ne se voit pas.",
            ),
            say(
                en=f"The note counts anew for each edge, in O(nk): {number(slow)} comparisons for {number(MANY)} "
                f"rows, {BINS} edges and nine deciles. One cumulative histogram serves them all in O(n + k): "
                f"{number(fast)} steps, the same counts.",
                fr=f"La note recompte à chaque bord, en O(nk) : {number(slow)} comparaisons pour {number(MANY)} "
                f"lignes, {BINS} bords et neuf déciles. Un seul histogramme cumulé sert à tous en O(n + k) : "
                f"{number(fast)} étapes, les mêmes effectifs.",
            ),
            say(
                en=f"The theorem, corrected, on {number(MANY)} uniform rows at ε = {price}: the median within [0.4, "
                f"0.6 + 1/{BINS}] with probability {number(bound)} or more; {percent(inside[0])} of {RUNS} runs were "
                f"({percent(inside[1])} at least, at 97.5 %). Its mean error is at most {number(mean, 2)}; measured, "
                f"{number(float(np.abs(found - 0.5).mean()), 2)}. Union bounds are that loose.",
                fr=f"Le théorème, corrigé, sur {number(MANY)} lignes uniformes à ε = {price} : la médiane est dans "
                f"[0,4 ; 0,6 + 1/{BINS}] avec une probabilité d'au moins {number(bound)} ; {percent(inside[0])} des "
                f"{RUNS} essais y étaient (au moins {percent(inside[1])}, à 97,5 %). Son erreur moyenne est d'au plus "
                f"{number(mean, 2)} ; mesurée, {number(float(np.abs(found - 0.5).mean()), 2)}. Les bornes d'union "
                "sont lâches à ce point.",
            ),
        ),
        chart=chart,
        table=Table(
            (
                say(en="data", fr="données"),
                say(en="method", fr="méthode"),
                say(en="error to the sample's", fr="erreur à l'échantillon"),
                say(en="error to the law's", fr="erreur à la loi"),
            ),
            tuple(rows),
            caption=say(
                en=f"Mean error of nine deciles, ε = {price}, {number(ROWS)} rows; ± 95 % over {RUNS} tables",
                fr=f"Erreur moyenne des neuf déciles, ε = {price}, {number(ROWS)} lignes ; ± 95 % sur {RUNS} tables",
            ),
        ),
        question=say(
            en="Nine noisy deciles may come out in the wrong order. May they be sorted, and does it cost anything?",
            fr="Neuf déciles bruités peuvent sortir dans le désordre. Peut-on les trier, et cela coûte-t-il quelque "
            "chose ?",
        ),
        answer=(
            say(
                en="They may, and it costs nothing: sorting looks at what was released only. It does not hurt "
                "either: if two values are in the wrong order, exchanging them brings both, taken together, no "
                "further from the true ones.",
                fr="On le peut, et cela ne coûte rien : le tri ne regarde que ce qui a été publié. Cela ne nuit pas "
                "non plus : échanger deux valeurs mal rangées n'éloigne pas leur couple des vraies.",
            ),
        ),
        remark=(
            say(
                en="A parenthesis of the listing is in the wrong place: each AboveThreshold gets ε (b − a)/k instead "
                f"of ε. On [0, 300 000] with {BINS} steps, ε = 1 becomes {number(spent)}. Besides, its edges forget "
                "the a; its queries are never cleared between deciles; its −1 becomes a value left of a; and it "
                "counts from 0, which gives the edge before: in figure 1, the median crosses at the edge "
                f"2/4, and the listing says 1/4.",
                fr="Une parenthèse du programme est mal placée : chaque AboveThreshold reçoit ε (b − a)/k au lieu de "
                f"ε. Sur [0, 300 000] en {BINS} pas, ε = 1 devient {number(spent)}. De plus, ses bords oublient le a "
                "; ses requêtes ne sont jamais vidées d'un décile à l'autre ; son −1 devient une valeur à gauche de "
                "a ; et il compte à partir de 0, ce qui donne le bord d'avant : dans la figure 1, la médiane "
                f"franchit le bord 2/4, et le programme dit 1/4.",
            ),
            say(
                en="The theorem on uniform data forgets three things. The grid: with k = 3, n = 100 000, ε = 1 it "
                f"claims {number(claims[0])} or more for the median within 0.1, and {percent(grid[0])} of 200 runs "
                "were there, for no edge is. The condition 2α ≤ nγ: with k = 100, ε = 0.001 it claims "
                f"{number(claims[1])}, and {percent(wide[0])} were ({percent(wide[2])} at most). And the nine calls "
                "at ε/9: α is 72, not 8, times the logarithms over ε. Its lemma on crowded intervals lacks that "
                f"condition too: among {number(ROWS)} rows it promises {number(2 * ROWS)} in each of two intervals "
                f"with probability {number(crowd)}.",
                fr="Le théorème sur les données uniformes oublie trois choses. La grille : avec k = 3, n = 100 000, "
                f"ε = 1, il promet au moins {number(claims[0])} pour la médiane à 0,1 près, et {percent(grid[0])} des "
                "200 essais y étaient, car aucun bord n'y est. La condition 2α ≤ nγ : avec k = 100, ε = 0,001, il "
                f"promet {number(claims[1])}, et {percent(wide[0])} y étaient (au plus {percent(wide[2])}). Et les "
                "neuf appels à ε/9 : α vaut 72 fois les logarithmes sur ε, et non 8. Son lemme sur les intervalles "
                f"peuplés omet aussi cette condition : parmi {number(ROWS)} lignes, il en promet {number(2 * ROWS)} "
                f"dans chacun de deux intervalles, avec probabilité {number(crowd)}.",
            ),
            say(
                en="The lemma on the sample's deciles is true, with an exponent six times too small "
                f"({number(near[0])} where Hoeffding gives {number(near[1])}, n = {number(ROWS)}, γ = 0.1). The bound "
                f"on the mean holds 8 e^α/n: about {said_mean} here, for an error that cannot pass 0.5. On normal "
                "data γ in [0, d_i] is empty up to the fourth decile. For inverse sensitivity R/(2ρ) should be R/ρ "
                "near the ends of the range; with n = 10 000 and ε = 1 the bound on the chance to be off by 0.011 is "
                f"{number(tails[1])}, {number(tails[0])} as printed. Printed or corrected, all of it is in "
                "`sfumato.lessons.theorems`.",
                fr="Le lemme sur les déciles de l'échantillon est vrai, avec un exposant six fois trop petit "
                f"({number(near[0])} là où Hoeffding donne {number(near[1])}, n = {number(ROWS)}, γ = 0,1). La borne "
                f"sur la moyenne contient 8 e^α/n : environ {said_mean} ici, pour une erreur qui ne peut dépasser "
                "0,5. Sur des données normales, γ dans [0, d_i] est vide jusqu'au quatrième décile. Pour la "
                "sensibilité inverse, R/(2ρ) devrait être R/ρ près des bouts de l'intervalle ; avec n = 10 000 et ε "
                f"= 1, la borne sur la probabilité de se tromper de 0,011 est {number(tails[1])}, {number(tails[0])} "
                "telle qu'imprimée. Imprimé ou corrigé, tout est dans `sfumato.lessons.theorems`.",
            ),
        ),
    )


LESSON = Lesson(
    name="deciles",
    note="003",
    section=Words("sections 2.2 and 3", "sections 2.2 et 3"),
    title=Words("Nine deciles, three ways", "Neuf déciles, trois façons"),
    minutes=45,
    tell=tell,
    needs=("seuil", "exponentiel"),
)
