"""Scene 4. Answers that are still of use: error bars, how often they cover, and a hospital where patients come back."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.lessons.asked import Asked
from sfumato.lessons.demo.scene import Scene
from sfumato.lessons.frequency import share
from sfumato.lessons.lesson import Words
from sfumato.show.picture import Axis, Picture, Point, Series, Slides
from sfumato.show.sheet import Around, Paragraph, Table

if TYPE_CHECKING:
    from sfumato.curator.answer import Answer
    from sfumato.lessons.demo.stage import Stage

BY_SCHOOL = "SELECT education, AVG(hours_per_week) AS hours, COUNT(*) AS people FROM adult GROUP BY education"
AGES = (
    "SELECT HISTOGRAM(age, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 91) AS ages, COUNT(*) AS people"
    " FROM adult GROUP BY 1"
)
STAYS = "SELECT COUNT(*) AS stays FROM stays"
REPEATS = 200

TITLE = Words("Still useful", "Encore utile")


def act(stage: Stage) -> Scene:
    """Means by group, ages, the coverage of the bars, and the price of a bound."""
    say, number, percent = stage.terms.say, stage.terms.number, stage.terms.percent
    ana = stage.people.session("ana")
    hours = ana.ask(BY_SCHOOL, epsilon="0.5")
    ages = ana.ask(AGES, epsilon="0.5")
    covered, bars = coverage(stage)
    part = share(covered, bars)
    visits = stage.hospital.session("ana").ask(STAYS, epsilon="0.5")
    row = visits.rows[0]
    true = true_stays(stage)
    within = row["stays_high"] - row["stays_unbiased"]
    return Scene(
        stage.title(TITLE),
        (
            Paragraph(
                say(
                    en=f"UCI Adult, 45 222 people, ε = 0.5 for each of two questions. `{BY_SCHOOL}`",
                    fr=f"UCI Adult, 45 222 personnes, ε = 0,5 pour chacune de deux questions. `{BY_SCHOOL}`",
                )
            ),
            means(stage, hours),
            Slides.one(picture(stage, ages)),
            Paragraph(
                say(
                    en=f"Do the bars keep their word? The first question was answered {number(REPEATS)} times behind "
                    f"the scenes: {number(covered)} of {number(bars)} bars hold the exact answer, {percent(part[0])} "
                    f"(95 %: {percent(part[1])} to {percent(part[2])}); they promise 95 %.",
                    fr=f"Les barres tiennent-elles parole ? La première question a été répondue {number(REPEATS)} "
                    f"fois en coulisse : {number(covered)} barres sur {number(bars)} contiennent la réponse exacte, "
                    f"{percent(part[0])} (95 % : de {percent(part[1])} à {percent(part[2])}) ; elles promettent 95 %.",
                )
            ),
            Paragraph(
                say(
                    en="A made-up hospital: patients have several stays, and at most 10 of each count, so that "
                    f"nobody weighs more. `{STAYS}` gives {number(round(row['stays']))} ± {number(round(within))} "
                    f"({visits.preview.counted}). The table was generated, so we may look: it has {number(true)} "
                    "stays. The bar covers noise only; the difference is what the bound cuts off, and the answer "
                    "says which bound that is.",
                    fr="Un hôpital inventé : les patients ont plusieurs séjours, et chacun compte pour 10 au plus, "
                    f"afin que personne ne pèse davantage. `{STAYS}` donne {number(round(row['stays']))} ± "
                    f"{number(round(within))}. La table est engendrée, on peut donc regarder : elle a {number(true)} "
                    "séjours. La barre ne couvre que le bruit ; la différence est ce que la borne coupe, et la "
                    "réponse dit quelle est cette borne.",
                )
            ),
        ),
    )


def means(stage: Stage, answer: Answer) -> Table:
    """Hours by education, with bars."""
    say = stage.terms.say
    rows = [(row["education"], around(row, "hours"), around(row, "people", whole=True)) for row in answer.rows]
    return Table(
        (
            say(en="education", fr="diplôme"),
            say(en="hours a week", fr="heures par semaine"),
            say(en="people", fr="personnes"),
        ),
        tuple(rows),
        digits=4,
        caption=say(en="± is the 95 % bar of the noise", fr="± est la barre à 95 % du bruit"),
    )


def around(row: dict[str, Any], name: str, *, whole: bool = False) -> Around | None:
    """A measured cell and its half-width."""
    value, high = row[f"{name}_unbiased"], row[f"{name}_high"]
    if value is None or high is None:
        return None
    return Around(round(value) if whole else value, high - value)


def picture(stage: Stage, answer: Answer) -> Picture:
    """The age pyramid with its bars."""
    say = stage.terms.say
    points = tuple(
        Point(str(row["ages"]), row["people_unbiased"], row["people_low"], row["people_high"]) for row in answer.rows
    )
    most = max(points, key=lambda point: point.y)
    return Picture(
        title=say(en="Ages, ε = 0.5", fr="Âges, ε = 0,5"),
        told=say(
            en=f"The fullest class is {most.x}, with {stage.terms.number(round(most.y))} people.",
            fr=f"La classe la plus nombreuse est {most.x}, avec {stage.terms.number(round(most.y))} personnes.",
        ),
        x=Axis(say(en="age", fr="âge"), "names"),
        y=Axis(say(en="people", fr="personnes")),
        series=(Series(say(en="private counts", fr="effectifs privés"), points, "bars"),),
        bars=say(en="Bars of 95 %, noise only.", fr="Barres à 95 %, bruit seul."),
    )


def coverage(stage: Stage) -> tuple[int, int]:
    """How many bars of fresh answers hold the exact answer, and how many there were.

    Adult has been published, so nothing is betrayed by counting it exactly here.
    """
    import pyarrow.parquet as parquet

    from sfumato.queries.answer import Estimate

    rows = parquet.read_table(stage.folder / "adult.parquet").to_pydict()
    asked = Asked(BY_SCHOOL, stage.people.schema, {"adult": rows}, "0.5")
    truth = [cell for row in asked.true().rows for cell in row]
    covered = bars = 0
    for result in asked.answers(REPEATS, stage.terms.source):
        for cell, right in zip((cell for row in result.rows for cell in row), truth, strict=True):
            match cell, right:
                case Estimate(unbiased=Fraction() as found, within=Fraction() as within), Estimate(
                    unbiased=Fraction() as true
                ):
                    bars += 1
                    covered += abs(found - true) <= within
    return covered, bars


def true_stays(stage: Stage) -> int:
    """How many rows the made-up table has."""
    import pyarrow.parquet as parquet

    return int(parquet.read_metadata(stage.folder / "hospital" / "stays.parquet").num_rows)
