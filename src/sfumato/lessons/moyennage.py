"""The same question again and again: noise averages away, and every answer is paid for; a curator replays. Note 004."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, final

from sfumato.lessons.asked import Asked
from sfumato.lessons.frequency import mean
from sfumato.lessons.lesson import Lesson, Terms, Told, Words
from sfumato.show.picture import Axis, Picture, Point, Series
from sfumato.show.sheet import Around, Cell, Formula, Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.noise import Source

AGES = tuple(20 + (place * 37) % 61 for place in range(500))
"""Five hundred people from 20 to 80."""
OVER = 50
SQL = f"SELECT COUNT(*) AS people FROM staff WHERE age > {OVER}"
RARE = "SELECT COUNT(*) AS people FROM staff WHERE age > 90"
"""Nobody is that old."""
TIMES = (1, 3, 10, 30, 100, 300, 1000)
REPEATS = 400
ASKED = 20
PRICES = ("0.01", "0.1", "1")
ASKED_POLICY = """[dataset]
name = "staff"
id = "d-staff"
version = "1"
[unit]
kind = "person"
[budget]
epsilon = {budget}
[tables.staff]
source = "parquet:staff.parquet"
unit = "person"
[tables.staff.columns.age]
type = "integer"
range = [0, 120]
"""


def count(sql: str, epsilon: Fraction) -> Asked:
    """The count at a price."""
    from sfumato.queries.schema import Column, Schema, Table, Unit

    column = Column("age", "integer", range=(Fraction(0), Fraction(120)))
    schema = Schema((Table("staff", (column,), unit="person"),), Unit("person"))
    people = {"person": [f"p{place}" for place in range(len(AGES))], "age": list(AGES)}
    return Asked(sql, schema, {"staff": people}, epsilon)


def answers(asked: Asked, shape: tuple[int, ...], source: Source) -> NDArray[np.float64]:
    """So many fresh answers, as the mechanism of the preview gives them: not clipped, in people."""
    import numpy as np

    (mechanism,), (vector,), (reach,) = asked.preview.mechanisms, asked.exact, asked.bounded.sensitivities
    drawn = mechanism.release(np.full(shape, int(vector[0])), reach, source=source).value
    return np.asarray(drawn / asked.bounded.whole, dtype=np.float64)


def deviation(asked: Asked) -> float:
    """The standard deviation of one answer, from the exact law of its noise."""
    from sfumato.mechanisms import Laplace
    from sfumato.noise import DiscreteLaplace

    (mechanism,) = asked.preview.mechanisms
    assert isinstance(mechanism, Laplace)
    return float(DiscreteLaplace(mechanism.scale).mean_square ** 0.5) / asked.bounded.whole


def true(asked: Asked) -> float:
    """The exact answer."""
    return float(asked.exact[0][0]) / asked.bounded.whole


def averaged(asked: Asked, source: Source) -> dict[int, Point]:
    """The root mean square error of the mean of k answers, over REPEATS rounds, with 95 % bars."""
    rounds = answers(asked, (REPEATS, TIMES[-1]), source)
    found = {}
    for k in TIMES:
        squares = (rounds[:, :k].mean(axis=1) - true(asked)) ** 2
        square = mean(squares)
        ends = max(0.0, square.value - square.within), square.value + square.within
        found[k] = Point(k, square.value**0.5, ends[0] ** 0.5, ends[1] ** 0.5)
    return found


@final
@dataclass(frozen=True, slots=True)
class Replayed:
    """What a real session did when one question was put to it again and again."""

    different: int
    spent: Fraction


def insisted(epsilon: Fraction, times: int = ASKED) -> Replayed:
    """A policy, a ledger and a session of the product in a folder of their own; the same question `times` times."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    from sfumato.curator.dataset import open_dataset
    from sfumato.curator.home import Home
    from sfumato.curator.policy import Policy

    with TemporaryDirectory() as folder:
        place = Path(folder)
        people = pa.table({"person": [f"p{each}" for each in range(len(AGES))], "age": list(AGES)})
        parquet.write_table(people, place / "staff.parquet")
        policy, home = place / "policy.toml", Home(place / "home")
        policy.write_text(ASKED_POLICY.format(budget=float(2 * epsilon)))
        Policy.load(policy).new_ledger(home)
        data = open_dataset(policy, home=home)
        session = data.session("mallory")
        seen = {str(session.ask(SQL, epsilon=epsilon).rows) for _ in range(times)}
        return Replayed(len(seen), data.ledger.totals().spent.amount)


def tell(terms: Terms) -> Told:
    """Errors of means beside their price; the same money spent at once; a real session; averaging clipped answers."""
    import numpy as np

    say, number = terms.say, terms.number
    measured: dict[Fraction, dict[int, Point]] = {}
    prices = [terms.epsilon, *map(Fraction, PRICES)]
    frame = (1 / float(2000 * max(prices)), 50 / float(min(prices)))

    def draw(epsilon: Fraction) -> Picture:
        asked = count(SQL, epsilon)
        measured[epsilon] = averaged(asked, terms.source)
        one, price = deviation(asked), number(epsilon)
        last = measured[epsilon][TIMES[-1]]
        return Picture(
            title=say(en=f"Averaging k answers at ε = {price} each", fr=f"Moyenne de k réponses à ε = {price} chacune"),
            told=say(
                en=f"One answer errs by {number(one)}; the mean of {number(TIMES[-1])} by {number(last.y)}, "
                "√k times less. One answer at the same total price would err by "
                f"{number(one / TIMES[-1])}.",
                fr=f"Une réponse se trompe de {number(one)} ; la moyenne de {number(TIMES[-1])}, de {number(last.y)}, "
                "√k fois moins. Une seule réponse au même prix total se tromperait de "
                f"{number(one / TIMES[-1])}.",
            ),
            x=Axis(say(en="number of answers k", fr="nombre de réponses k"), scale="log", domain=(0.9, 1200)),
            y=Axis(
                say(en="error of the count (people)", fr="erreur du compte (personnes)"),
                scale="log",
                domain=frame,
            ),
            series=(
                Series(
                    say(en="mean of k answers: measured", fr="moyenne de k réponses : mesuré"),
                    tuple(measured[epsilon].values()),
                    "dots",
                ),
                Series(
                    say(en="1/√k, for k ε in all", fr="1/√k, pour k ε en tout"),
                    tuple(Point(k, one / k**0.5) for k in TIMES),
                    "line",
                    exact=True,
                ),
                Series(
                    say(en="one answer at k ε", fr="une réponse à k ε"),
                    tuple(Point(k, deviation(count(SQL, k * epsilon))) for k in TIMES),
                    "line",
                    exact=True,
                ),
                Series(
                    say(en="mean of k answers at ε/k", fr="moyenne de k réponses à ε/k"),
                    tuple(Point(k, deviation(count(SQL, epsilon / k)) / k**0.5) for k in TIMES),
                    "line",
                    exact=True,
                ),
            ),
            bars=say(
                en=f"Root mean square error over {REPEATS} rounds; bars: 95 % of its square.",
                fr=f"Erreur quadratique moyenne (racine) sur {REPEATS} séries ; barres : 95 % de son carré.",
            ),
        )

    chart = terms.slides(draw, at=PRICES)
    epsilon, price = terms.epsilon, number(terms.epsilon)
    asked = count(SQL, epsilon)
    points = measured[epsilon]
    loss = asked.preview.loss
    rows: list[tuple[Cell, ...]] = []
    for k, point in points.items():
        assert point.low is not None
        assert point.high is not None
        spent = (loss * k).epsilon(0) if k > 1 else loss.epsilon(0)
        at_once = deviation(count(SQL, k * epsilon))
        rows.append((k, spent, terms.power(spent), Around(point.y, (point.high - point.low) / 2), at_once))
    session = insisted(epsilon)
    rare = count(RARE, epsilon)
    clipped = np.maximum(0, answers(rare, (REPEATS * 100,), terms.source))
    bias = mean(clipped)
    return Told(
        says=(
            say(
                en="It is usual to ask the same table again and again. Each question is a leak: the mean of the noisy "
                "answers comes close to the truth. The note shows it on the number of people above 50, and asks what "
                "two leaks ε₁ and ε₂ add up to.",
                fr="Il est usuel d'interroger sans cesse la même base. Chaque requête est une fuite : la moyenne des "
                "réponses bruitées s'approche de la réalité. La note le montre sur le nombre de personnes de plus de "
                "50 ans, et demande ce que valent deux fuites ε₁ et ε₂ ensemble.",
            ),
        ),
        formulas=(
            Formula(
                r"\sqrt{ E \Big[ \Big( \frac1k \sum_{i=1}^k \nu_i \Big)^2 \Big] } = "
                r"\frac{\sqrt 2}{\varepsilon \sqrt k}, \qquad \text{price: } k \varepsilon"
                if terms.lang == "en"
                else r"\sqrt{ E \Big[ \Big( \frac1k \sum_{i=1}^k \nu_i \Big)^2 \Big] } = "
                r"\frac{\sqrt 2}{\varepsilon \sqrt k}, \qquad \text{prix : } k \varepsilon",
                "error √2/(ε √k), price k ε" if terms.lang == "en" else "erreur √2/(ε √k), prix k ε",
            ),
        ),
        found=(
            say(
                en=f"`{SQL}` has the exact answer {number(round(true(asked)))}. With fresh noise for every answer, "
                f"the mean of {number(TIMES[-1])} answers errs by {number(points[TIMES[-1]].y)} where one errs by "
                f"{number(deviation(asked))}: the noise is gone. Nothing has been broken, for the price is "
                f"{number(TIMES[-1] * epsilon)}, which promises next to nothing. Whoever may spend that much should "
                "do it at once: one answer at kε errs √k times less still.",
                fr=f"`{SQL}` a pour réponse exacte {number(round(true(asked)))}. Avec un bruit neuf à chaque réponse, "
                f"la moyenne de {number(TIMES[-1])} réponses se trompe de {number(points[TIMES[-1]].y)}, là où une "
                f"seule se trompe de {number(deviation(asked))} : le bruit a disparu. Rien n'a été enfreint, car le "
                f"prix est {number(TIMES[-1] * epsilon)}, qui ne promet presque plus rien. Qui peut dépenser autant "
                "devrait le faire d'un coup : une seule réponse à kε se trompe encore √k fois moins.",
            ),
            say(
                en=f"A real session of the product, with a ledger and a budget of {number(2 * epsilon)}, was then "
                f"asked the same question {ASKED} times. Different answers: {session.different}. Spent: ε = "
                f"{number(session.spent)}. The curator replays what it has already said, which tells nothing new. "
                "Only paying more brings a better answer, and the budget ends that.",
                fr=f"Une vraie session du produit, avec un registre et un budget de {number(2 * epsilon)}, a ensuite "
                f"reçu {ASKED} fois la même requête. Réponses différentes : {session.different}. Dépensé : ε = "
                f"{number(session.spent)}. Le curateur rejoue ce qu'il a déjà dit, ce qui n'apprend rien de neuf. "
                "Seul un prix plus élevé donne une meilleure réponse, et le budget y met fin.",
            ),
        ),
        chart=chart,
        table=Table(
            (
                "k",
                say(en="spent kε", fr="dépensé kε"),
                "exp(kε)",
                say(en="error of the mean", fr="erreur de la moyenne"),
                say(en="of one answer at kε", fr="d'une réponse à kε"),
            ),
            tuple(rows),
            caption=say(
                en=f"{REPEATS} rounds, ε = {price} an answer; half-widths at 95 %",
                fr=f"{REPEATS} séries, ε = {price} par réponse ; demi-largeurs à 95 %",
            ),
        ),
        question=say(
            en="Replaying stops someone who repeats a question to the letter. Does it stop someone who asks for the "
            "people above 50 in each department, and adds up?",
            fr="Le rejeu arrête qui répète une requête à la lettre. Arrête-t-il qui demande les plus de 50 ans dans "
            "chaque service, puis additionne ?",
        ),
        answer=(
            say(
                en="No: that is another question, with fresh noise, and its sum is a second estimate of the same "
                "number. It is paid for like any other. What ends averaging is the budget; replaying only spares the "
                "honest from paying twice.",
                fr="Non : c'est une autre requête, au bruit neuf, et sa somme est une deuxième estimation du même "
                "nombre. Elle se paie comme une autre. Ce qui met fin au moyennage est le budget ; le rejeu évite "
                "seulement aux honnêtes gens de payer deux fois.",
            ),
        ),
        remark=(
            say(
                en="The note is right that the mean comes close to the truth, but does not say what it costs: the "
                f"ratio of likelihoods that ε = {price} bounds by {terms.power(epsilon)} is bounded by "
                f"{terms.power(100 * epsilon)} after a hundred answers. The attack is no flaw of the noise, it is the "
                "price of a hundred answers.",
                fr="La note a raison de dire que la moyenne s'approche de la réalité, mais ne dit pas ce que cela "
                f"coûte : le rapport de vraisemblance que ε = {price} borne par {terms.power(epsilon)} n'est plus "
                f"borné que par {terms.power(100 * epsilon)} après cent réponses. L'attaque n'est pas un défaut du "
                "bruit : c'est le prix de cent réponses.",
            ),
            say(
                en="And the mean comes close to the truth only if nobody has tidied the answers up. The note's "
                "histogram keeps max(0, ·): of people above 90 there are none, and the mean of "
                f"{number(len(clipped))} such answers is {number(bias.value)} ± {number(bias.within, 2)}.",
                fr="Et la moyenne ne s'approche de la réalité que si personne n'a retouché les réponses. L'histogramme "
                "de la note garde max(0, ·) : il n'y a personne de plus de 90 ans, et la moyenne de "
                f"{number(len(clipped))} réponses ainsi retouchées vaut {number(bias.value)} ± "
                f"{number(bias.within, 2)}.",
            ),
        ),
    )


LESSON = Lesson(
    name="moyennage",
    note="004",
    section=Words("Sequential composition, intuitions", "Composition séquentielle, intuitions"),
    title=Words("Asking again and again", "Demander encore et encore"),
    minutes=20,
    tell=tell,
    needs=("laplace",),
    epsilon="0.1",
)
