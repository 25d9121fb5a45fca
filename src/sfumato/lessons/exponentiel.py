"""Choosing among names: nationalities and eyes, and why the list of names must not come from the rows. Note 004."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.lessons.frequency import among, share
from sfumato.lessons.lesson import Lesson, Terms, Told, Words
from sfumato.show.picture import Axis, Picture, Point, Series
from sfumato.show.sheet import Around, Cell, Formula, Table

if TYPE_CHECKING:
    from sfumato.mechanisms import Exponential, Mechanism
    from sfumato.mechanisms.choice.scores import Scores

COUNTS = (6, 5, 3, 2)
"""Chinese, Indian, American, Greek: the note's table."""
PRINTED = ("0.70", "0.26", "0.03", "0.01")
EYES = (0, 5, 3, 6, 4)
"""Red, blue, green, brown, hazel: a class, with nobody's eyes red."""
DRAWS = 20_000
LARGE = (6000, 5000, 3000, 2000)
"""The note's table, a thousand times as large."""


def chances(mechanism: Mechanism[Scores, int], scores: Scores) -> tuple[float, ...]:
    """The exact probability of each candidate, from the product's certified law."""
    law = mechanism.law(scores)
    assert law is not None
    found = [law.weights.get(place, (0, 0)) for place in range(len(scores))]
    return tuple(float(Fraction(low + high, 2 << law.bits)) for low, high in found)


def note_formula(counts: Sequence[int], epsilon: Fraction) -> list[float]:
    """The note's code to the letter, in floats: exp(eps u / 2), divided by the sum."""
    import numpy as np

    with np.errstate(over="ignore", invalid="ignore"):
        weights = np.exp(float(epsilon) * np.asarray(counts, dtype=float) / 2)
        shares: list[float] = (weights / weights.sum()).tolist()
    return shares


def tell(terms: Terms) -> Told:
    """Exact probabilities beside observed frequencies; eyes; an absent name; counts that overflow."""
    from sfumato.mechanisms import Exponential, PermuteAndFlip

    say, number, percent = terms.say, terms.number, terms.percent
    nations = [
        say(en="Chinese", fr="chinoise"),
        say(en="Indian", fr="indienne"),
        say(en="American", fr="américaine"),
        say(en="Greek", fr="grecque"),
    ]
    colours = [
        say(en="red", fr="rouge"),
        say(en="blue", fr="bleu"),
        say(en="green", fr="vert"),
        say(en="brown", fr="marron"),
        say(en="hazel", fr="noisette"),
    ]

    def choose(scores: Sequence[int], epsilon: Fraction) -> Exponential:
        return Exponential.calibrate(candidates=len(scores), epsilon=epsilon)

    def observed(mechanism: Mechanism[Scores, int], scores: Sequence[int], names: Sequence[str]) -> list[str]:
        return [names[place] for place in mechanism.repeat(scores, DRAWS, terms.source)]

    def draw(epsilon: Fraction) -> Picture:
        exact = chances(choose(COUNTS, epsilon), COUNTS)
        flipping = PermuteAndFlip.calibrate(candidates=len(COUNTS), epsilon=epsilon)
        price = number(epsilon)
        return Picture(
            title=say(
                en=f"The most common nationality, ε = {price}", fr=f"La nationalité la plus commune, ε = {price}"
            ),
            told=say(
                en=f"The exponential mechanism names the true one in {percent(exact[0])} of the draws; what was "
                "observed agrees. Permute-and-flip, at the same price, names it more often.",
                fr=f"Le mécanisme exponentiel nomme la bonne dans {percent(exact[0])} des tirages ; l'observation "
                "concorde. « Permute-and-flip », au même prix, la nomme plus souvent.",
            ),
            x=Axis(say(en="nationality", fr="nationalité"), scale="names"),
            y=Axis(say(en="share of draws", fr="part des tirages"), domain=(0, 1), percent=True),
            series=(
                Series(
                    say(en="formula", fr="formule"),
                    tuple(Point(name, chance) for name, chance in zip(nations, exact, strict=True)),
                    "bars",
                    exact=True,
                ),
                Series(
                    say(en="exponential mechanism", fr="mécanisme exponentiel"),
                    among(observed(choose(COUNTS, epsilon), COUNTS, nations), nations),
                    "dots",
                ),
                Series("permute-and-flip", among(observed(flipping, COUNTS, nations), nations), "dots"),
            ),
            bars=say(
                en=f"Bars: 95 % intervals of a share among {number(DRAWS)} draws.",
                fr=f"Barres : intervalles à 95 % d'une part sur {number(DRAWS)} tirages.",
            ),
        )

    chart = terms.slides(draw, at=("0.1", "0.5", "1", "2", "5"))
    epsilon, price = terms.epsilon, number(terms.epsilon)
    exact = chances(choose(COUNTS, epsilon), COUNTS)
    rows: list[tuple[Cell, ...]] = []
    for names, scores, printed in ((nations, COUNTS, PRINTED), (colours, EYES, (None,) * len(EYES))):
        mechanism = choose(scores, epsilon)
        seen = observed(mechanism, scores, names)
        for name, count, noted, chance in zip(names, scores, printed, chances(mechanism, scores), strict=True):
            hit, low, high = share(seen.count(name), DRAWS)
            said = None if noted is None else say(en=noted, fr=noted.replace(".", ","))
            rows.append((name, count, said, chance, Around(hit, (high - low) / 2)))
    one_greek, no_greek = ((*COUNTS[:3], greeks) for greeks in (1, 0))
    there, absent = (chances(choose(COUNTS, epsilon), counts)[3] for counts in (one_greek, no_greek))
    overflow = note_formula(LARGE, epsilon)
    sturdy = chances(choose(LARGE, epsilon), LARGE)[0]
    monotone = Exponential.calibrate(candidates=len(COUNTS), epsilon=epsilon, monotone=True)
    sharper = chances(monotone, COUNTS)[0]
    return Told(
        says=(
            say(
                en="Adding noise makes no sense for a question whose answer is a name: the most common colour of eyes, "
                "the most common nationality. The exponential mechanism chooses r with a probability proportional to "
                "exp(ε u(D, r)/(2Δ)): useful answers are likely, useless ones exponentially rare. With 6, 5, 3 and 2 "
                "people and ε = 2 the note finds 0.70, 0.26, 0.03 and 0.01.",
                fr="Ajouter du bruit n'a pas de sens quand la réponse est un nom : la couleur d'yeux la plus "
                "fréquente, la nationalité la plus commune. Le mécanisme exponentiel choisit r avec une probabilité "
                "proportionnelle à exp(ε u(D, r)/(2Δ)) : les réponses utiles sont probables, les inutiles "
                "exponentiellement rares. Avec 6, 5, 3 et 2 personnes et ε = 2, la note trouve 0,70, 0,26, 0,03 et "
                "0,01.",
            ),
        ),
        formulas=(
            Formula(
                r"\Pr[M(D) = r] = \frac{e^{\varepsilon u(D, r) / (2\Delta_u)}}"
                r"{\sum_{s \in R} e^{\varepsilon u(D, s) / (2\Delta_u)}}",
                "P(M(D) = r) = e^{ε u(D, r) / (2Δ_u)} / Σ_s e^{ε u(D, s) / (2Δ_u)}",
            ),
        ),
        found=(
            say(
                en=f"The product's law at ε = {price}: "
                + ", ".join(f"{name} {number(chance)}" for name, chance in zip(nations, exact, strict=True))
                + f". {number(DRAWS)} draws agree with it. Permute-and-flip keeps the same promise and never does "
                "worse. A count can only grow when somebody comes, and then the 2 may go: the same ε names the right "
                f"one with probability {number(sharper)}.",
                fr=f"La loi du produit à ε = {price} : "
                + ", ".join(f"{name} {number(chance)}" for name, chance in zip(nations, exact, strict=True))
                + f". {number(DRAWS)} tirages concordent. « Permute-and-flip » tient la même promesse et ne fait "
                "jamais moins bien. Un effectif ne peut que croître quand quelqu'un arrive, et alors le 2 peut "
                f"disparaître : le même ε nomme la bonne avec probabilité {number(sharper)}.",
            ),
            say(
                en="Then the eyes of a class of 18. Nobody's are red, but red is on the public list, so it has a "
                "score, 0, and may come out: the table says how often. That is what hides whether anybody's are.",
                fr="Puis les yeux d'une classe de 18 élèves. Personne ne les a rouges, mais le rouge est sur la liste "
                "publique : il a un score, 0, et peut sortir, aussi souvent que le dit le tableau. C'est ce qui cache "
                "si quelqu'un les a rouges.",
            ),
        ),
        chart=chart,
        table=Table(
            (
                say(en="answer", fr="réponse"),
                say(en="people", fr="personnes"),
                say(en="the note, ε = 2", fr="la note, ε = 2"),
                say(en="law of the product", fr="loi du produit"),
                say(en="observed", fr="observé"),
            ),
            tuple(rows),
            caption=say(
                en=f"Nationalities, then eyes, ε = {price}; {number(DRAWS)} draws, ± 95 %",
                fr=f"Nationalités, puis yeux, ε = {price} ; {number(DRAWS)} tirages, ± 95 %",
            ),
        ),
        question=say(
            en="Everybody's count is multiplied by ten: 60, 50, 30, 20. What becomes of the probabilities?",
            fr="Tous les effectifs sont multipliés par dix : 60, 50, 30, 20. Que deviennent les probabilités ?",
        ),
        answer=(
            say(
                en="Only differences matter. The gap between the first two goes from 1 to 10, their ratio from "
                "exp(ε/2) to exp(5ε): the right answer now has probability "
                f"{number(chances(choose(COUNTS, epsilon), [10 * each for each in COUNTS])[0], 5)}.",
                fr="Seules comptent les différences. L'écart des deux premières passe de 1 à 10, leur rapport de "
                "exp(ε/2) à exp(5ε) : la bonne réponse a maintenant la probabilité "
                f"{number(chances(choose(COUNTS, epsilon), [10 * each for each in COUNTS])[0], 5)}.",
            ),
        ),
        remark=(
            say(
                en="The code takes its list of answers from the rows: `value_counts().index`. A nationality that "
                "nobody has then has probability exactly 0. With one Greek the answer “Greek” comes out with "
                f"probability {number(there)}; take that person away and it cannot: the ratio of the two is infinite, "
                f"and so is ε. From a public list it still has {number(absent)}, and the ratio is "
                f"{number(there / absent)}, below exp(ε) = {terms.power(epsilon)}. The note's own `u` could not even "
                "be asked: it stops with a KeyError for a name that is absent.",
                fr="Le code prend sa liste de réponses dans les lignes : `value_counts().index`. Une nationalité que "
                "personne n'a y a une probabilité exactement nulle. Avec une seule personne grecque, la réponse "
                f"« grecque » sort avec probabilité {number(there)} ; sans elle, jamais : le rapport des deux est "
                f"infini, et ε aussi. Depuis une liste publique, il reste {number(absent)}, et le rapport vaut "
                f"{number(there / absent)}, moins que exp(ε) = {terms.power(epsilon)}. La fonction `u` de la note ne "
                "pourrait même pas répondre : elle s'arrête sur une KeyError pour un nom absent.",
            ),
            say(
                en="And exp(ε u/2) leaves the floats when u is above about "
                f"{number(round(1420 / float(epsilon)))} people (at this ε). With "
                f"{', '.join(number(each) for each in LARGE)} people the note's formula gives "
                f"{', '.join(map(str, overflow))}, and nothing can be drawn; the product gives {number(sturdy)} to the "
                "first.",
                fr="Et exp(ε u/2) sort des flottants quand u dépasse environ "
                f"{number(round(1420 / float(epsilon)))} personnes (à cet ε). Avec "
                f"{', '.join(number(each) for each in LARGE)} personnes, la formule de la note donne "
                f"{', '.join(map(str, overflow))}, et l'on ne peut rien tirer ; le produit donne {number(sturdy)} à la "
                "première.",
            ),
        ),
    )


LESSON = Lesson(
    name="exponentiel",
    note="004",
    section=Words("The exponential mechanism", "Mécanisme exponentiel"),
    title=Words("The most common nationality", "La nationalité la plus commune"),
    minutes=25,
    tell=tell,
    needs=("laplace",),
    epsilon="2",
)
