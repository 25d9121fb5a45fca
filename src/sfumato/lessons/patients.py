"""Nine patients, two questions, epsilon 0.5 + 0.5: the sensitivity of a mean is not that of a sum. Note 004."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.lessons.asked import Asked
from sfumato.lessons.frequency import share, up_to
from sfumato.lessons.lesson import Lesson, Terms, Told, Words
from sfumato.show.picture import Axis, Picture, Point, Series
from sfumato.show.sheet import Around, Cell, Formula, Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.noise import Source
    from sfumato.queries.answer import Estimate, Result

ROWS = (
    (35, "bronchitis"),
    (37, "pneumonia"),
    (39, "stomach cancer"),
    (54, "gastritis"),
    (58, "flu"),
    (54, "bronchitis"),
    (41, "gastric ulcer"),
    (46, "gastritis"),
    (44, "stomach cancer"),
)
"""Age and disease, as the note prints them."""
DISEASES = ("bronchitis", "pneumonia", "stomach cancer", "gastritis", "flu", "gastric ulcer")
LOW, HIGH = 20, 100
GASTRIC = "SELECT COUNT(*) AS people FROM patients WHERE disease IN ('stomach cancer', 'gastritis', 'gastric ulcer')"
MEAN = "SELECT AVG(age) AS age FROM patients"
NOISE = (Fraction("-2.25"), Fraction("8.92"))
"""What the note drew for the count and for the mean."""
GRAIN = Fraction(1, 1024)
TIMES = 2000
PLACES = tuple(range(-20, 121))
NEAR = 20


def asked(sql: str, epsilon: Fraction) -> Asked:
    """One of the two questions, under add or remove: how many patients there are is private."""
    from sfumato.queries.schema import Column, Schema, Table, Unit

    columns = (
        Column("age", "integer", range=(Fraction(LOW), Fraction(HIGH))),
        Column("disease", "category", values=DISEASES),
    )
    schema = Schema((Table("patients", columns, unit="person"),), Unit("person"))
    data = {
        "person": [f"p{place}" for place in range(len(ROWS))],
        "age": [age for age, _ in ROWS],
        "disease": [disease for _, disease in ROWS],
    }
    return Asked(sql, schema, {"patients": data}, epsilon)


def only(result: Result) -> Estimate:
    """The one number of an answer."""
    from sfumato.queries.answer import Estimate

    ((cell,),) = result.rows
    assert isinstance(cell, Estimate)
    return cell


def worst(people: int) -> tuple[Fraction, Fraction]:
    """The largest change of a mean of `people` ages when one leaves, and when one comes.

    A mean is linear in each age, so the worst tables have nobody but the youngest and the oldest allowed; all are tried.
    """

    def mean(old: int, all_of: int) -> Fraction:
        return Fraction(old * HIGH + (all_of - old) * LOW, all_of)

    leaves, comes = [Fraction(0)], []
    for old in range(people + 1):
        here = mean(old, people)
        comes += [abs(mean(old + more, people + 1) - here) for more in (0, 1)]
        if people > 1:
            leaves += [abs(mean(old - less, people - 1) - here) for less in (0, 1) if 0 <= old - less <= people - 1]
    return max(leaves), max(comes)


def near(means: Iterable[float]) -> float:
    """The part of released means that are within NEAR years of the exact one."""
    exact = sum(age for age, _ in ROWS) / len(ROWS)
    hits = [abs(mean - exact) <= NEAR for mean in means]
    return sum(hits) / len(hits)


def note_scale(people: int, epsilon: Fraction) -> Fraction:
    """The note's noise: (U - L)/(n + 1) over epsilon, with the number of rows at hand."""
    return Fraction(HIGH - LOW, people + 1) / epsilon


def note_means(epsilon: Fraction, source: Source) -> NDArray[np.float64]:
    """Means with the note's noise, on a fine lattice."""
    import numpy as np

    from sfumato.mechanisms import Laplace

    mean = sum(age for age, _ in ROWS) / len(ROWS)
    mechanism = Laplace(scale=note_scale(len(ROWS), epsilon), grain=GRAIN)
    found: NDArray[np.float64] = mechanism.release(np.full(TIMES, mean), worst(len(ROWS))[0], source=source).value
    return found


def kept(epsilon: Fraction) -> float:
    """The epsilon that the note's noise keeps when one of nine patients leaves and the noise stays as it is."""
    from sfumato.mechanisms import Laplace

    mechanism = Laplace(scale=note_scale(len(ROWS), epsilon), grain=GRAIN)
    return mechanism.loss(worst(len(ROWS))[0]).epsilon(0)


def escaped(epsilon: Fraction) -> float:
    """The probability by which the note's promise is missed: delta(epsilon) of its densities for nine patients and for eight.

    Nine patients, eight of them youngest, the oldest leaves; the scale follows the number of rows, as the note's formula says.
    The integral is taken over steps of 1/100 of the narrower scale.
    """
    import numpy as np

    people = len(ROWS)
    centres = (LOW + (HIGH - LOW) / people, float(LOW))
    scales = tuple(float(note_scale(n, epsilon)) for n in (people, people - 1))
    step = min(scales) / 100
    x = np.arange(-60 * scales[1], 60 * scales[1], step) + LOW
    one, other = (np.exp(-np.abs(x - m) / b) / (2 * b) for m, b in zip(centres, scales, strict=True))
    power = math.exp(float(epsilon))
    ways = (np.maximum(one - power * other, 0), np.maximum(other - power * one, 0))
    return max(float(way.sum() * step) for way in ways)


def tell(terms: Terms) -> Told:
    """The two questions asked of the note's table, by the note's noise and by the product."""
    from sfumato.mechanisms import Laplace

    say, number, percent = terms.say, terms.number, terms.percent
    nothing: dict[Fraction, tuple[float, float, float]] = {}

    def draw(epsilon: Fraction) -> Picture:
        half, theirs = epsilon / 2, note_means(epsilon / 2, terms.source)
        ours = [only(result).value for result in asked(MEAN, half).answers(TIMES, terms.source)]
        known = [float(each) for each in ours if each is not None]
        nothing[epsilon] = share(len(ours) - len(known), len(ours))
        return Picture(
            title=say(
                en=f"The mean age of nine patients, ε = {number(half)} of {number(epsilon)}",
                fr=f"L'âge moyen de neuf patients, ε = {number(half)} sur {number(epsilon)}",
            ),
            told=say(
                en=f"The note's answers may leave the ages allowed; {percent(near(theirs))} of them are "
                f"within {NEAR} years of 45.33. The product's hide the number of patients too, stay between 20 and "
                f"100, and {percent(near(known))} are as near. With nine patients neither says much.",
                fr="Les réponses de la note peuvent sortir des âges permis ; une part de "
                f"{percent(near(theirs))} tombe à moins de {NEAR} ans de 45,33. Celles du produit cachent aussi le "
                f"nombre de patients, restent entre 20 et 100, et {percent(near(known))} tombent aussi près. Avec neuf "
                "patients, ni les unes ni les autres ne disent grand-chose.",
            ),
            x=Axis(say(en="released mean age", fr="âge moyen publié"), domain=(PLACES[0], PLACES[-1])),
            y=Axis(
                say(en="share of draws at most this", fr="part des tirages ne dépassant pas"),
                domain=(0, 1),
                percent=True,
            ),
            series=(
                Series(
                    say(en="the note: scale 8/ε", fr="la note : échelle 8/ε"),
                    up_to(theirs, PLACES),
                    "line",
                ),
                Series(
                    say(en="the product, number of patients hidden", fr="le produit, nombre de patients caché"),
                    up_to(known, PLACES),
                    "line",
                ),
                Series(
                    say(en="exact: 45.33", fr="exact : 45,33"),
                    (Point(float(only(asked(MEAN, half).true()).value or 0), 0),),
                    "rule",
                ),
            ),
            bars=say(
                en=f"Bands: 95 % intervals of a share among the answers of {number(TIMES)} draws.",
                fr=f"Bandes : intervalles à 95 % d'une part des réponses sur {number(TIMES)} tirages.",
            ),
        )

    chart = terms.slides(draw, at=("0.2", "1", "5", "20"))
    epsilon, half = terms.epsilon, terms.epsilon / 2
    price = number(half)
    count, mean = asked(GASTRIC, half), asked(MEAN, half)
    exact = int(only(count.true()).value or 0), float(only(mean.true()).value or 0)
    leaves, comes = worst(len(ROWS))
    released = tuple(only(each.answers(1, terms.source)[0]) for each in (count, mean))
    reach = [Fraction(each.bounded.sensitivity.l1, each.bounded.whole) for each in (count, mean)]
    bar = mean.preview.within(at=len(ROWS))["age"]
    theirs = Laplace(scale=note_scale(len(ROWS), half), grain=GRAIN).within("0.95")
    enough = math.ceil(len(ROWS) * bar / float(NOISE[1]))
    price_kept, missed = kept(half), escaped(half)
    rows: list[tuple[Cell, ...]] = [
        (
            say(en="gastric patients", fr="problème gastrique"),
            exact[0],
            1,
            int(reach[0]),
            float(exact[0] + NOISE[0]),
            shown(released[0]),
        ),
        (
            say(en="mean age", fr="âge moyen"),
            exact[1],
            8,
            say(en=f"{number(float(leaves))}, n known", fr=f"{number(float(leaves))}, n connu"),
            exact[1] + float(NOISE[1]),
            shown(released[1]),
        ),
    ]
    return Told(
        says=(
            say(
                en="Nine patients. How many have a gastric problem, and how old are they on average? A neighbouring "
                "table has one row more or less. The sensitivities are 1 and (U − L)/(n + 1) ≈ (100 − 20)/10 = 8. With "
                "ε = 0.5 each, the note publishes 5 − 2.25 = 2.75, rounded to 3, and 45.33 + 8.92 = 54.25, for ε = 1 "
                "in all.",
                fr="Neuf patients. Combien ont un problème gastrique, et quel est leur âge moyen ? Une base voisine a "
                "une ligne de plus ou de moins. Les sensibilités sont 1 et (U − L)/(n + 1) ≈ (100 − 20)/10 = 8. Avec "
                "ε = 0,5 chacune, la note publie 5 − 2,25 = 2,75, arrondi à 3, et 45,33 + 8,92 = 54,25, pour ε = 1 en "
                "tout.",
            ),
        ),
        formulas=(
            Formula(
                r"\Delta_{\text{mean}} = \max\left( \frac{U - L}{n}, \frac{U - L}{n + 1} \right) = \frac{U - L}{n}"
                if terms.lang == "en"
                else r"\Delta_{\text{moyenne}} = \max\left( \frac{U - L}{n}, \frac{U - L}{n + 1} \right) "
                r"= \frac{U - L}{n}",
                "Δ = max( (U − L)/n, (U − L)/(n + 1) ) = (U − L)/n",
            ),
            Formula(
                r"P = \sum_i (x_i - L), \quad Q = \sum_i (U - x_i), \qquad \bar x = L + (U - L) \frac{P}{P + Q}",
                "P = Σ_i (x_i − L),   Q = Σ_i (U − x_i),   x̄ = L + (U − L) P/(P + Q)",
            ),
        ),
        found=(
            say(
                en=f"The product counts {exact[0]} gastric patients and finds a mean age of {number(exact[1], 4)}. For "
                "the sensitivity of the mean, every table of nine ages at the ends of [20, 100] was tried: when a "
                f"patient comes, the mean moves by up to {number(float(comes))}, when one leaves, by up to "
                f"{number(float(leaves))}. A neighbour has one row less just as well as one more, so it is "
                f"{number(float(leaves))}, not 8.",
                fr=f"Le produit compte {exact[0]} patients gastriques et trouve un âge moyen de {number(exact[1], 4)}. "
                "Pour la sensibilité de la moyenne, toutes les bases de neuf âges pris aux bouts de [20, 100] ont été "
                f"essayées : quand un patient arrive, la moyenne bouge d'au plus {number(float(comes))} ; quand un "
                f"patient part, d'au plus {number(float(leaves))}. Une voisine peut avoir une ligne de moins aussi "
                f"bien qu'une de plus : c'est donc {number(float(leaves))}, et non 8.",
            ),
            say(
                en="Even that holds only if everybody may know that there are nine. They may not: a row more or less "
                f"is what is hidden, and for two patients the mean moves by {number(float(worst(2)[0]))}. The product "
                f"releases no mean, but two sums, P and Q, which one patient moves by {number(int(reach[1]))} "
                f"together; their noisy ratio is the mean. At ε = {price} and nine patients the bar is ±{number(bar)} "
                f"years; that of the note's own noise is ±{number(theirs)}, without hiding how many there are. From "
                f"about {number(enough)} patients on the product's is within the 8.92 by which the note's answer "
                f"happens to err. In {percent(nothing[epsilon][0])} of the draws the noisy number of patients was not "
                "above 0, and there is no mean.",
                fr="Et encore, cela suppose que chacun puisse savoir qu'ils sont neuf. Or une ligne de plus ou de "
                "moins est justement ce qu'on cache, et pour deux patients la moyenne bouge de "
                f"{number(float(worst(2)[0]))}. Le produit ne publie pas une moyenne, mais deux sommes, P et Q, qu'un "
                f"patient déplace de {number(int(reach[1]))} à elles deux ; leur rapport bruité donne la moyenne. À ε "
                f"= {price} et neuf patients, la barre est de ±{number(bar)} ans ; celle du bruit de la note est de "
                f"±{number(theirs)}, sans cacher combien ils sont. À partir d'environ {number(enough)} patients, "
                "celle du produit descend sous 8,92, l'écart qu'a pris la réponse de la note. Dans "
                f"{percent(nothing[epsilon][0])} des tirages, le nombre bruité de patients n'était pas positif, et il "
                "n'y a pas de moyenne.",
            ),
        ),
        chart=chart,
        table=Table(
            (
                say(en="question", fr="requête"),
                say(en="exact", fr="exact"),
                say(en="Δ of the note", fr="Δ de la note"),
                say(en="right Δ", fr="Δ juste"),
                say(en="the note's answer", fr="réponse de la note"),
                say(en="the product's", fr="celle du produit"),
            ),
            tuple(rows),
            caption=say(
                en=f"ε = {price} + {price} = {number(epsilon)}; the product's answers with 95 % bars",
                fr=f"ε = {price} + {price} = {number(epsilon)} ; les réponses du produit avec leurs barres à 95 %",
            ),
            digits=4,
        ),
        question=say(
            en="The note rounds 2.75 to 3 patients. Does that cost anything? And would it cost anything to replace a "
            "mean of 110 years by 100?",
            fr="La note arrondit 2,75 à 3 patients. Cela coûte-t-il quelque chose ? Et remplacer une moyenne de 110 "
            "ans par 100 ?",
        ),
        answer=(
            say(
                en="Neither costs anything: both look at the released number and at public bounds only. They are "
                "post-processing. Both add a bias, though, if many such answers are combined later.",
                fr="Ni l'un ni l'autre : les deux ne regardent que le nombre publié et des bornes publiques. C'est du "
                "post-traitement. Mais les deux ajoutent un biais, si l'on combine plus tard beaucoup de telles "
                "réponses.",
            ),
        ),
        remark=(
            say(
                en="(U − L)/(n + 1) is the change when a patient comes; the note's own neighbours also lose one. With "
                f"noise for 8 a change of {number(float(leaves))} costs {number(price_kept, 4)}, not {price}.",
                fr="(U − L)/(n + 1) est l'écart quand un patient arrive ; mais les voisines de la note en perdent "
                f"aussi. Avec un bruit prévu pour 8, un écart de {number(float(leaves))} coûte "
                f"{number(price_kept, 4)}, et non {price}.",
            ),
            say(
                en="Worse, the scale itself holds n. Nine patients get noise of scale "
                f"{number(float(note_scale(9, half)))}, eight get {number(float(note_scale(8, half)))}: far from the "
                "mean the ratio of the two densities grows without bound, and no ε at all is kept. At ε = "
                f"{price} a share δ = {number(missed)} of the outputs escapes the promise. And ages must be clamped to "
                "[L, U] before they are summed; a patient of 104 would otherwise move more than anything here counts "
                "with.",
                fr="Pire, l'échelle elle-même contient n. Neuf patients reçoivent un bruit d'échelle "
                f"{number(float(note_scale(9, half)))}, huit un bruit d'échelle {number(float(note_scale(8, half)))} "
                ": loin de la moyenne, le rapport des deux densités croît sans limite, et aucun ε n'est tenu. À ε = "
                f"{price}, une part δ = {number(missed)} des sorties échappe à la promesse. Enfin, les âges doivent "
                "être ramenés dans [L, U] avant d'être additionnés ; sinon, un patient de 104 ans déplacerait plus "
                "que tout ce qui est compté ici.",
            ),
        ),
    )


def shown(estimate: Estimate) -> Around | None:
    """A released number and its bar; a dash where there is none."""
    if estimate.value is None or estimate.within is None:
        return None
    return Around(float(estimate.value), float(estimate.within))


LESSON = Lesson(
    name="patients",
    note="004",
    section=Words("Example of a combination, ε = 0.5 + 0.5", "Exemple de combinaison avec ε = 0,5 + 0,5"),
    title=Words("Nine patients, two questions", "Neuf patients, deux requêtes"),
    minutes=25,
    tell=tell,
    needs=("composition",),
)
