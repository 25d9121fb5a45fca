"""Frames make the plans that SQL makes, to the letter."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from sfumato.core import BadInput, NotSupported
from sfumato.queries.frame import Frame, Question, count, count_units, frame, mean, stddev, sum, variance
from sfumato.queries.plan import canonical
from sfumato.queries.schema import Schema
from sfumato.queries.sql.parse import parse
from sfumato.testing.questions import schema

SCHEMA: Schema = schema()
PEOPLE: Frame = frame(SCHEMA, "people")


PAIRS = [
    (PEOPLE.count(), "SELECT COUNT(*) AS count FROM people"),
    (
        PEOPLE.filter(sex="F").filter("age >= ?", 40).mean("income"),
        "SELECT AVG(income) AS mean FROM people WHERE sex = 'F' AND age >= 40",
    ),
    (
        PEOPLE.filter("age > ? AND age < ?", 1, 2.5).sum("age"),
        "SELECT SUM(age) AS sum FROM people WHERE age > 1 AND age < 2.5",
    ),
    (
        PEOPLE.filter(sex=None, flag=True).count_units(),
        "SELECT COUNT(DISTINCT person) AS count FROM people WHERE sex IS NULL AND flag = TRUE",
    ),
    (
        PEOPLE.filter("day >= ?", date(2020, 1, 1)).count("age"),
        "SELECT COUNT(age) AS count FROM people WHERE day >= '2020-01-01'",
    ),
    (
        PEOPLE.with_columns(double="age * 2").group_by("sex", decade="age // 10").agg(n=count(), d=mean("double")),
        "SELECT sex, age // 10 AS decade, COUNT(*) AS n, AVG(age * 2) AS d FROM people GROUP BY sex, decade",
    ),
    (
        PEOPLE.group_by("sex").agg(n=count(), v=variance("heat", sample=False)).sort("n", descending=True).head(3),
        "SELECT sex, COUNT(*) AS n, VAR_POP(heat) AS v FROM people GROUP BY sex ORDER BY n DESC LIMIT 3",
    ),
    (
        PEOPLE.group_by("sex").agg(u=count_units(), t=sum("age"), s=stddev("score")),
        "SELECT sex, COUNT(DISTINCT person) AS u, SUM(age) AS t, STDDEV(score) AS s FROM people GROUP BY sex",
    ),
    (
        PEOPLE.group_by("sex").count().having("count", above=10),
        "SELECT sex, COUNT(*) AS count FROM people GROUP BY sex HAVING count > 10",
    ),
    (PEOPLE.variance("age"), "SELECT VARIANCE(age) AS variance FROM people"),
    (PEOPLE.stddev("age"), "SELECT STDDEV(age) AS stddev FROM people"),
    (PEOPLE.sql("SELECT COUNT(*) FROM people"), "SELECT COUNT(*) FROM people"),
]


@pytest.mark.parametrize(("question", "text"), PAIRS, ids=[text for _, text in PAIRS])
def test_a_frame_and_its_sql_are_one_plan(question: Question, text: str) -> None:
    assert canonical(question.plan) == canonical(parse(text, SCHEMA))


def test_frames_do_not_change() -> None:
    PEOPLE.filter(sex="F").with_columns(x="age + 1")
    assert canonical(PEOPLE.count().plan) == canonical(parse("SELECT COUNT(*) AS count FROM people", SCHEMA))


def test_parameters_are_values_and_never_text() -> None:
    """A quote in a parameter stays inside its value."""
    question = PEOPLE.filter("sex = ?", "F' OR '1'='1").count()
    assert canonical(question.plan) == canonical(
        parse("SELECT COUNT(*) AS count FROM people WHERE sex = 'F'' OR ''1''=''1'", SCHEMA)
    )


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: PEOPLE.filter("age"),
        lambda: PEOPLE.filter("age > ?"),
        lambda: PEOPLE.filter(height=3),
        lambda: PEOPLE.filter("COUNT(*) > 3"),
        lambda: PEOPLE.filter("age > 3; DROP TABLE people"),
        lambda: PEOPLE.filter("age > 3 FROM people"),
        lambda: PEOPLE.filter("age > 3, 1"),
        lambda: PEOPLE.with_columns(x="secret + 1"),
        lambda: PEOPLE.group_by("*"),
        lambda: PEOPLE.sum("note"),
        lambda: PEOPLE.sum("person"),
        lambda: PEOPLE.group_by("person"),
        lambda: PEOPLE.group_by("note").count(),
        lambda: frame(SCHEMA, "nobody"),
    ],
)
def test_what_frames_refuse(wrong: Any) -> None:
    with pytest.raises(NotSupported):
        wrong()


def test_too_many_parameters_are_refused() -> None:
    with pytest.raises(BadInput):
        PEOPLE.filter("age > 1", 2)


def test_a_number_that_is_none_is_refused() -> None:
    for value in (float("nan"), float("inf"), object()):
        with pytest.raises(BadInput):
            PEOPLE.filter("age > ?", value)


def test_a_question_without_a_session_says_so() -> None:
    with pytest.raises(BadInput):
        PEOPLE.count().ask(epsilon="0.1")


def test_a_session_is_asked_the_plan() -> None:
    class Session:
        asked: tuple[Any, Any] | None = None

        def preview(self, plan: Any, **options: Any) -> str:
            return "previewed"

        def ask(self, plan: Any, **options: Any) -> str:
            self.asked = (plan, options)
            return "asked"

    session = Session()
    question = frame(SCHEMA, "people", asker=session).group_by("sex").count()
    assert question.preview() == "previewed"
    assert question.ask(epsilon="0.1") == "asked"
    assert session.asked == (question.plan, {"epsilon": "0.1"})
