"""Two means, one newcomer: subtraction gives a salary away. Note 004, first example."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.lessons.asked import Asked
from sfumato.lessons.frequency import share, shares
from sfumato.lessons.lesson import Lesson, Terms, Told, Words
from sfumato.show.picture import Axis, Picture, Point, Series
from sfumato.show.sheet import Around, Formula, Table

if TYPE_CHECKING:
    from sfumato.queries.answer import Result

MALLORY = 156_000
JANUARY = [40_000 + 303 * place for place in range(99)]
JANUARY.append(100 * 55_000 - sum(JANUARY))
"""A hundred salaries of mean 55 000."""
MOST = 200_000
"""What the policy says a salary can be at most: public, whatever the salaries are."""
TIMES = 1000
SQL = "SELECT COUNT(salary) AS people, AVG(salary) AS salary FROM employees"
EDGES = [-2_000_000 + 100_000 * step for step in range(41)]
NOTE = ((102, 55_551), (97, 55_975))
"""The cleaned answers that the note prints for January and February."""


def month(salaries: list[int], epsilon: Fraction) -> Asked:
    """The question of one month, as a curator would bound and price it."""
    from sfumato.queries.schema import Column, Schema, Table, Unit

    column = Column("salary", "integer", range=(Fraction(0), Fraction(MOST)))
    schema = Schema((Table("employees", (column,), unit="person"),), Unit("person", max_rows=1))
    people = {"person": [f"p{place}" for place in range(len(salaries))], "salary": salaries}
    return Asked(SQL, schema, {"employees": people}, epsilon)


def pair(result: Result) -> tuple[Any, Any]:
    """The count and the mean of one answer."""
    people, salary = result.rows[0]
    return people, salary


def deduced(january: Result, february: Result) -> float | None:
    """What Mallory earns, by subtraction: n' m' - n m. Nothing when a mean could not be released."""
    (n, m), (more, higher) = ((each.unbiased for each in pair(result)) for result in (january, february))
    return None if m is None or higher is None else float(more * higher - n * m)


def attack(january: Asked, february: Asked, terms: Terms) -> list[float]:
    """The subtraction on a thousand pairs of private answers."""
    pairs = zip(january.answers(TIMES, terms.source), february.answers(TIMES, terms.source), strict=True)
    return [found for one, other in pairs if (found := deduced(one, other)) is not None]


def tell(terms: Terms) -> Told:
    """Attack exact answers, then a thousand private ones."""
    say, number = terms.say, terms.number
    january, february = month(JANUARY, terms.epsilon), month([*JANUARY, MALLORY], terms.epsilon)
    replays: dict[Fraction, list[float]] = {}

    def draw(epsilon: Fraction) -> Picture:
        replays[epsilon] = attack(january.at(epsilon), february.at(epsilon), terms)
        drawn, price = shares(replays[epsilon], EDGES), number(epsilon)
        return Picture(
            title=say(
                en=f"Mallory's salary by subtraction, ε = {price}", fr=f"Salaire de Mallory par différence, ε = {price}"
            ),
            told=say(
                en=f"Of {number(len(replays[epsilon]))} replays, the fullest bin of 100 000 holds "
                f"{terms.percent(max(p.y for p in drawn))} of the results; the true salary, 156 000, does not stand "
                "out.",
                fr=f"Sur {number(len(replays[epsilon]))} rejeux, la classe de 100 000 la plus remplie contient "
                f"{terms.percent(max(p.y for p in drawn))} des résultats ; le vrai salaire, 156 000, ne s'y distingue "
                "pas.",
            ),
            x=Axis(say(en="salary deduced ($)", fr="salaire déduit ($)"), domain=(EDGES[0], EDGES[-1])),
            y=Axis(say(en="share of replays", fr="part des rejeux"), domain=(0, 0.8), percent=True),
            series=(
                Series(say(en="private answers", fr="réponses privées"), drawn, "steps"),
                Series(say(en="exact answers: 156 000", fr="réponses exactes : 156 000"), (Point(MALLORY, 0),), "rule"),
            ),
            bars=say(
                en=f"Bars of 100 000; the band is the 95 % interval of a share among {number(TIMES)} replays.",
                fr=f"Classes de 100 000 ; la bande est l'intervalle à 95 % d'une part sur {number(TIMES)} rejeux.",
            ),
        )

    chart = terms.slides(draw, at=("0.1", "0.5", "1", "2", "10"))
    exact = deduced(january.true(), february.true())
    first = january.answers(1, terms.source)[0], february.answers(1, terms.source)[0]
    guesses = sorted(replays[terms.epsilon])
    low, high = guesses[len(guesses) // 40], guesses[-1 - len(guesses) // 40]
    near, near_low, near_high = share(sum(abs(guess - MALLORY) <= MALLORY / 10 for guess in guesses), len(guesses))
    note = NOTE[1][0] * NOTE[1][1] - NOTE[0][0] * NOTE[0][1]
    bar = half_width(first[0])
    needed = terms.epsilon * Fraction(bar) / abs(NOTE[0][1] - 55_000)
    price = number(terms.epsilon)
    kind = terms.noise(january.preview.noise())
    return Told(
        says=(
            say(
                en="Each month a firm publishes how many people it employs and their mean salary. January: 100 "
                "people, 55 000 $. February: 101 people, 56 000 $. Nobody left, and Mallory came. The note then "
                "shows cleaned answers, (102, 55 551) and (97, 55 975), and asks what Mallory earns.",
                fr="Chaque mois, une entreprise publie le nombre de ses employés et leur salaire moyen. Janvier : "
                "100 personnes, 55 000 $. Février : 101 personnes, 56 000 $. Personne n'est parti, Mallory est "
                "arrivée. La note montre ensuite des réponses nettoyées, (102, 55 551) et (97, 55 975), et demande "
                "ce que gagne Mallory.",
            ),
        ),
        formulas=(
            Formula(
                r"s_{\text{Mallory}} = n' \, m' - n \, m = 101 \times 56\,000 - 100 \times 55\,000 = 156\,000",
                "s = n′ m′ − n m = 101 × 56 000 − 100 × 55 000 = 156 000".replace(" 000", "\u202f000"),
            ),
        ),
        found=(
            say(
                en=f"The same two questions were put to the product: `{SQL}`, salaries in [0, 200 000], one row per "
                f"person, ε = {price} a month. Exact answers give {number(int(exact or 0))}. Each question was then "
                f"answered {number(TIMES)} times with fresh noise, {kind}, and each pair subtracted: 95 % of the "
                f"results lie between {number(round(low))} and {number(round(high))}.",
                fr=f"Les deux mêmes questions ont été posées au produit : `{SQL}`, salaires dans [0, 200 000], une "
                f"ligne par personne, ε = {price} par mois. Les réponses exactes donnent {number(int(exact or 0))}. "
                f"Chaque question a ensuite reçu {number(TIMES)} réponses à bruit neuf, {kind}, et chaque paire a été "
                f"soustraite : 95 % des résultats sont entre {number(round(low))} et {number(round(high))}.",
            ),
            say(
                en=f"Only {terms.percent(near)} of the replays (95 %: {terms.percent(near_low)} to "
                f"{terms.percent(near_high)}) come within a tenth of the true salary. A real curator would not even "
                "give a second draw: it replays the first.",
                fr=f"Seuls {terms.percent(near)} des rejeux (95 % : de {terms.percent(near_low)} à "
                f"{terms.percent(near_high)}) tombent à moins d'un dixième du vrai salaire. Un vrai curateur ne "
                "ferait même pas de second tirage : il rejoue le premier.",
            ),
        ),
        chart=chart,
        table=Table(
            (
                say(en="answers", fr="réponses"),
                say(en="January: people", fr="janvier : personnes"),
                say(en="mean", fr="moyenne"),
                say(en="February: people", fr="février : personnes"),
                say(en="mean", fr="moyenne"),
                "Mallory",
            ),
            (
                (say(en="exact", fr="exactes"), *plainly(january.true()), *plainly(february.true()), round(exact or 0)),
                (say(en="the note's", fr="de la note"), *NOTE[0], *NOTE[1], note),
                (
                    say(en="the product's", fr="du produit"),
                    *(around(each) for result in first for each in pair(result)),
                    round(deduced(*first) or 0),
                ),
            ),
            digits=6,
        ),
        question=say(
            en="Mallory is in February's table only. How much of the two months' budget has been spent on her "
            "privacy, and how much on that of somebody present in both?",
            fr="Mallory n'est que dans la table de février. Quelle part du budget des deux mois a été dépensée sur "
            "sa vie privée, et quelle part sur celle d'une personne présente les deux mois ?",
        ),
        answer=(
            say(
                en=f"ε = {price} for Mallory: January's answer does not depend on her. {number(2 * terms.epsilon)} "
                "for the others: the months are two tables about the same people, not disjoint ones, so their losses "
                "add up.",
                fr=f"ε = {price} pour Mallory : la réponse de janvier ne dépend pas d'elle. "
                f"{number(2 * terms.epsilon)} pour les autres : les mois sont deux tables sur les mêmes personnes, "
                "non des tables disjointes, et leurs pertes s'ajoutent.",
            ),
        ),
        remark=(
            say(
                en="The note gives its cleaned answers without saying ε or how large a salary may be. Its January "
                "mean is off by 551 $. With salaries up to 200 000 $ and 100 people, the product's bar at ε = "
                f"{price} is ±{number(round(bar))} $ (95 %); a bar of ±551 $ would cost about ε = {number(needed)}, "
                f"which lets a likelihood ratio of more than {terms.power(needed)} through. The note's answers are "
                "nicer than a usual promise allows for a hundred people; its own subtraction gives "
                + f"{number(note)} $, so they hide Mallory, but nobody can say "
                "how well.",
                fr="La note donne ses réponses nettoyées sans dire ni ε ni le plus grand salaire possible. Sa "
                "moyenne de janvier s'écarte de 551 $. Avec des salaires jusqu'à 200 000 $ et 100 personnes, la "
                f"barre du produit à ε = {price} est de ±{number(round(bar))} $ (95 %) ; une barre de ±551 $ "
                f"coûterait environ ε = {number(needed)}, ce qui laisse passer un rapport de vraisemblance de plus de "
                f"{terms.power(needed)}. Les réponses de la note sont plus belles que ce qu'une promesse usuelle "
                f"permet pour cent personnes ; sa propre différence donne {number(note)} $ : elles cachent donc "
                "Mallory, mais personne ne peut dire à quel point.",
            ),
        ),
    )


def half_width(result: Result) -> float:
    """The half-width of a released mean's bar."""
    mean = pair(result)[1]
    return float(mean.within) if mean.within is not None else float(MOST)


def plainly(result: Result) -> tuple[int, int]:
    """Count and mean without noise."""
    people, salary = pair(result)
    return round(people.value), round(salary.value)


def around(estimate: Any) -> Around | None:
    """A released number and its bar."""
    if estimate.value is None or estimate.within is None:
        return None
    return Around(round(estimate.unbiased), float(estimate.within))


LESSON = Lesson(
    name="mallory",
    note="004",
    section=Words("Motivation: queries on neighbouring tables", "Motivation : requêtes sur des bases voisines"),
    title=Words("Mallory's salary", "Le salaire de Mallory"),
    minutes=20,
    tell=tell,
)
