"""The first week above a threshold, for one price however many weeks are asked. Note 003, section 2.1."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.lessons.frequency import among, share
from sfumato.lessons.lesson import Lesson, Terms, Told, Words
from sfumato.show.picture import Axis, Picture, Point, Series
from sfumato.show.sheet import Formula, Table

if TYPE_CHECKING:
    from sfumato.mechanisms import AboveThreshold
    from sfumato.noise import Source

THRESHOLD = 500
WEEKS = tuple(400 + (week * 37) % 23 + (200 if week >= 18 else 0) for week in range(1, 25))
"""Visits to a clinic: around 410 a week, around 610 from the 18th week on."""
FIRST = next(week for week, visits in enumerate(WEEKS, 1) if visits >= THRESHOLD)
RUNS = 400
MANY = (10, 100, 1000)
BETA = Fraction(1, 20)


def product(epsilon: Fraction) -> AboveThreshold:
    """As the product calibrates it: one-sided noise, and the split of least variance."""
    from sfumato.mechanisms import AboveThreshold

    return AboveThreshold.calibrate(epsilon=epsilon, threshold=THRESHOLD)


def printed(epsilon: Fraction) -> AboveThreshold:
    """As the note prints it: Laplace of scale 2/epsilon for the threshold, 4/epsilon for each question."""
    from sfumato.mechanisms import AboveThreshold

    return AboveThreshold(threshold=THRESHOLD, scale=2 / epsilon, ratio=2, noise="laplace")


def halts(mechanism: AboveThreshold, stream: tuple[int, ...], source: Source, runs: int = RUNS) -> list[int | None]:
    """The week at which each run says "above"; None when it never does."""
    transcripts = mechanism.repeat(stream, runs, source)
    return [len(replies) if replies[-1].above else None for replies in transcripts]


def naive_halts(epsilon: Fraction, stream: tuple[int, ...], source: Source) -> list[int | None]:
    """Every count released with Laplace noise at an equal share of epsilon, then compared."""
    import numpy as np

    from sfumato.mechanisms import Laplace

    laplace = Laplace.calibrate(epsilon=epsilon / len(stream))
    noisy = laplace.release(np.tile(np.array(stream), RUNS), 1, source=source).value.reshape(RUNS, -1)
    above: list[int | None] = [int(row.argmax()) + 1 if row.any() else None for row in noisy >= THRESHOLD]
    return above


def false_alarms(
    mechanism: AboveThreshold, margin: float, queries: int, source: Source, runs: int
) -> tuple[float, float, float]:
    """How often something is called above when every count lies a margin below the threshold."""
    quiet = (THRESHOLD - int(margin) - 1,) * queries
    return share(sum(halt is not None for halt in halts(mechanism, quiet, source, runs)), runs)


def tell(terms: Terms) -> Told:
    """Where it stops, beside naive noise; how far off it can be, beside the bound."""
    from sfumato.mechanisms.stream.threshold import textbook_margin

    say, number = terms.say, terms.number
    never = say(en="never", fr="jamais")
    names: list[Any] = [*range(1, len(WEEKS) + 1), None]
    right: dict[Fraction, tuple[tuple[float, float, float], tuple[float, float, float]]] = {}

    def draw(epsilon: Fraction) -> Picture:
        ours = halts(product(epsilon), WEEKS, terms.source)
        naive = naive_halts(epsilon, WEEKS, terms.source)
        found = share(ours.count(FIRST), RUNS), share(naive.count(FIRST), RUNS)
        right[epsilon] = found
        price = number(epsilon)
        return Picture(
            title=say(
                en=f"The week called above, ε = {price} in all", fr=f"La semaine dite au-dessus, ε = {price} en tout"
            ),
            told=say(
                en=f"AboveThreshold stops at week {FIRST}, the first above {THRESHOLD}, in "
                f"{terms.percent(found[0][0])} of the runs; naive Laplace noise on {len(WEEKS)} counts in "
                f"{terms.percent(found[1][0])}.",
                fr=f"AboveThreshold s'arrête à la semaine {FIRST}, la première au-dessus de {THRESHOLD}, dans "
                f"{terms.percent(found[0][0])} des essais ; le bruit de Laplace naïf sur {len(WEEKS)} comptes, dans "
                f"{terms.percent(found[1][0])}.",
            ),
            x=Axis(say(en="week", fr="semaine"), scale="names"),
            y=Axis(say(en="share of runs", fr="part des essais"), domain=(0, 1), percent=True),
            series=(
                Series("AboveThreshold", named(among(ours, names), never), "dots"),
                Series(say(en="naive Laplace", fr="Laplace naïf"), named(among(naive, names), never), "dots"),
            ),
            bars=say(
                en=f"Bars: 95 % intervals of a share among {RUNS} runs.",
                fr=f"Barres : intervalles à 95 % d'une part sur {RUNS} essais.",
            ),
        )

    chart = terms.slides(draw, at=("0.05", "0.1", "0.5", "1"))
    epsilon = terms.epsilon
    rows = []
    for queries in MANY:
        runs = RUNS if queries < 1000 else RUNS // 2
        margin = product(epsilon).within(1 - BETA, queries=queries)
        measured = false_alarms(product(epsilon), margin, queries, terms.source, runs)
        rows.append(
            (
                queries,
                textbook_margin(queries=queries, epsilon=epsilon, confidence=1 - BETA),
                margin,
                say(
                    en=f"{terms.percent(measured[0])} ({terms.percent(measured[1])} to {terms.percent(measured[2])})",
                    fr=f"{terms.percent(measured[0])} ({terms.percent(measured[1])} à {terms.percent(measured[2])})",
                ),
                naive_margin(epsilon, queries),
            )
        )
    quiet = (THRESHOLD - int(rows[0][2]) - 1,) * 10
    nothing = share(halts(printed(epsilon), quiet, terms.source).count(None), RUNS)
    price = number(epsilon)
    ours, naive = right[epsilon]
    return Told(
        says=(
            say(
                en="To answer many questions with Laplace noise costs the sum of their prices. Often only one thing "
                "is wanted: which is the first question whose answer is above a threshold? AboveThreshold blurs the "
                "threshold once and each answer anew, says “below” as long as it must, and stops at the first "
                "“above”. All of it costs ε, whatever the number of questions.",
                fr="Répondre à beaucoup de requêtes par du bruit de Laplace coûte la somme de leurs prix. Souvent, "
                "une seule chose est voulue : quelle est la première requête dont la réponse dépasse un seuil ? "
                "AboveThreshold brouille le seuil une fois et chaque réponse à neuf, dit « au-dessous » tant qu'il "
                "le faut, et s'arrête au premier « au-dessus ». Le tout coûte ε, quel que soit le nombre de requêtes.",
            ),
        ),
        formulas=(
            Formula(
                r"\hat T = T + \mathrm{Lap}(2/\varepsilon), \qquad "
                r"k = \min\{ i : f_i(D) + \mathrm{Lap}(4/\varepsilon) \geq \hat T \}",
                "T̂ = T + Lap(2/ε),   k = min { i : f_i(D) + Lap(4/ε) ≥ T̂ }",
            ),
            Formula(
                r"\alpha = \frac{8 \, (\ln k_{\max} + \ln(2/\beta))}{\varepsilon}",
                "α = 8 (ln k_{max} + ln(2/β)) / ε",
            ),
        ),
        found=(
            say(
                en=f"Twenty-four weeks of visits to a clinic, about 410 a week and about 610 from week {FIRST} on; "
                f"the threshold is {THRESHOLD}. At ε = {price}, the product's AboveThreshold (one-sided noise, best "
                f"split) stops at week {FIRST} in {terms.percent(ours[0])} of {RUNS} runs. Releasing all {len(WEEKS)} "
                f"counts at ε/{len(WEEKS)} each finds it in {terms.percent(naive[0])}.",
                fr="Vingt-quatre semaines de visites à une clinique, environ 410 par semaine, puis environ 610 dès "
                f"la semaine {FIRST} ; le seuil est {THRESHOLD}. À ε = {price}, l'AboveThreshold du produit (bruit "
                f"d'un seul côté, meilleur partage) s'arrête à la semaine {FIRST} dans {terms.percent(ours[0])} des "
                f"{RUNS} essais. Publier les {len(WEEKS)} comptes à ε/{len(WEEKS)} chacun la trouve dans "
                f"{terms.percent(naive[0])}.",
            ),
            say(
                en="The table says how far from the threshold a reply can be wrong when k questions may be asked: by "
                "the note's bound, by the product's own, by naive noise; and how often something was called above "
                "when every count lay just beyond the product's bound, below the threshold (promised: 5 % at most).",
                fr="Le tableau dit à quelle distance du seuil une réponse peut être fausse quand k requêtes peuvent "
                "être posées : par la borne de la note, par celle du produit, par le bruit naïf ; et combien de fois "
                "une réponse a été dite au-dessus quand tous les comptes étaient juste au-delà de la borne du "
                "produit, sous le seuil (promis : 5 % au plus).",
            ),
        ),
        chart=chart,
        table=Table(
            (
                "k",
                say(en="α of the note", fr="α de la note"),
                say(en="α of the product", fr="α du produit"),
                say(en="false alarms (95 %)", fr="fausses alertes (95 %)"),
                say(en="naive noise", fr="bruit naïf"),
            ),
            tuple(rows),
            caption=say(en=f"Margins at 95 %, ε = {price}", fr=f"Marges à 95 %, ε = {price}"),
        ),
        question=say(
            en="Replies “below” cost nothing more. What if the noisy count itself were published each week, with the "
            "same noise?",
            fr="Les réponses « au-dessous » ne coûtent rien de plus. Et si l'on publiait chaque semaine le compte "
            "bruité lui-même, avec le même bruit ?",
        ),
        answer=(
            say(
                en="Then every week is a Laplace release of scale 4/ε and costs ε/4: after k weeks, k ε/4. The proof "
                "shifts the threshold's noise once to keep all the “below” where they were; a published number is "
                "not kept by a shift.",
                fr="Alors chaque semaine est une publication de Laplace d'échelle 4/ε et coûte ε/4 : après k "
                "semaines, k ε/4. La preuve décale une fois le bruit du seuil pour que tous les « au-dessous » le "
                "restent ; un nombre publié ne survit pas à un décalage.",
            ),
        ),
        remark=(
            say(
                en="The theorem is right. The accuracy lemma slips three times. It calls k the index that comes out, "
                "which is random, where the bound needs the largest number of questions, fixed before; it bounds f_i "
                "+ ν_i, the noisy answers, where f_i is meant; and it does not say what happens when nothing is "
                "above. Measured: with ten counts below the threshold by more than the margin, the note's own "
                f"algorithm returns −1 in {terms.percent(nothing[0])} of {RUNS} runs, and there the printed bound is "
                "8 (ln(−1) + ln(2/β))/ε: it means nothing. An output of 0 (the first question) makes it −∞, that is, "
                "it claims no error at all.",
                fr="Le théorème est juste. Le lemme de précision glisse trois fois. Il appelle k l'indice rendu, qui "
                "est aléatoire, là où la borne demande le plus grand nombre de requêtes, fixé d'avance ; il borne "
                "f_i + ν_i, les réponses bruitées, là où il faut f_i ; et il ne dit pas ce qui arrive quand rien ne "
                "dépasse. Mesuré : avec dix comptes sous le seuil de plus que la marge, l'algorithme de la note rend "
                f"−1 dans {terms.percent(nothing[0])} des {RUNS} essais, et la borne imprimée y vaut 8 (ln(−1) + "
                "ln(2/β))/ε : elle ne veut rien dire. Une sortie 0 (la première requête) la rend égale à −∞, "
                "c'est-à-dire qu'elle ne prétend à aucune erreur.",
            ),
            say(
                en="The proof writes |g_k − g′_k| = 1 where ≤ 1 holds, drops the densities' constants, and leaves "
                "out k = 0 and the output −1; none of this changes the result, and the product's docstring proves it "
                "without these gaps.",
                fr="La preuve écrit |g_k − g′_k| = 1 là où vaut ≤ 1, oublie les constantes des densités, et laisse "
                "de côté k = 0 et la sortie −1 ; rien de cela ne change le résultat, et la documentation du produit "
                "le démontre sans ces trous.",
            ),
        ),
    )


def named(points: tuple[Point, ...], never: str) -> tuple[Point, ...]:
    """The last place is no week."""
    return tuple(Point(never if each.x == "None" else each.x, each.y, each.low, each.high) for each in points)


def naive_margin(epsilon: Fraction, queries: int) -> float:
    """How far the worst of `queries` counts can be off, at 95 %, when each has an equal share of epsilon."""
    from sfumato.mechanisms import Laplace

    return Laplace.calibrate(epsilon=epsilon / queries).within(1 - BETA / queries)


LESSON = Lesson(
    name="seuil",
    note="003",
    section=Words("section 2.1, AboveThreshold", "section 2.1, AboveThreshold"),
    title=Words("The first one above the threshold", "Le premier au-dessus du seuil"),
    minutes=30,
    tell=tell,
    needs=("bruit",),
    epsilon="0.5",
)
