"""Random and mutated texts: refused with words of ours, or understood; never a traceback, never rows of people."""

from __future__ import annotations

from typing import Any

import pytest

from sfumato.core import NotSupported
from sfumato.queries.bounded import bound
from sfumato.queries.expression import Call, Expression, Field, Literal, Measure
from sfumato.queries.plan import Select, aggregate_of, canonical
from sfumato.queries.schema import Schema
from sfumato.queries.sql.parse import parse
from sfumato.testing.questions import Draw, question, schema

WORDS = (
    *(
        "SELECT",
        "FROM",
        "WHERE",
        "GROUP BY",
        "HAVING",
        "ORDER BY",
        "LIMIT",
        "people",
        "age",
        "sex",
        "person",
        "note",
        "free",
        "x",
    ),
    *(
        "(",
        ")",
        ",",
        "*",
        "=",
        "<",
        "+",
        "-",
        "/",
        "//",
        "%",
        "||",
        "'a'",
        "'",
        '"',
        ";",
        "--",
        "/*",
        "*/",
        "?",
        ":",
        "::",
        ".",
        "[",
        "]",
    ),
    *(
        "COUNT(*)",
        "SUM(age)",
        "AVG(score)",
        "MAX(age)",
        "COUNT(DISTINCT person)",
        "1",
        "0",
        "1e99",
        "0x1F",
        "NULL",
        "TRUE",
        "$1",
        "@a",
    ),
    *(
        "AND",
        "OR",
        "NOT",
        "IN",
        "BETWEEN",
        "LIKE",
        "IS",
        "CASE",
        "WHEN",
        "THEN",
        "ELSE",
        "END",
        "AS",
        "WITH",
        "JOIN",
        "ON",
        "USING",
    ),
    *(
        "UNION ALL",
        "EXCEPT",
        "OVER ()",
        "PARTITION BY sex",
        "DISTINCT",
        "ALL",
        "EXISTS",
        "random()",
        "now()",
        "read_csv('x')",
    ),
    *(
        "CAST(",
        "DATE",
        "INTERVAL '1' DAY",
        "LATERAL",
        "UNNEST([1])",
        "VALUES (1)",
        "INSERT",
        "DROP TABLE people",
        "PRAGMA",
        "ATTACH",
    ),
    *(
        "QUALIFY",
        "TABLESAMPLE",
        "PIVOT",
        "FILTER (WHERE age > 1)",
        "COLLATE NOCASE",
        "EXCLUDE (age)",
        "REPLACE (1 AS age)",
        "\x00",
        "é",
    ),
    *(
        "IGNORE NULLS",
        "AT TIME ZONE 'UTC'",
        "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
        "GROUPING SETS ((sex))",
        "COLUMNS(*)",
        "{a: 1}",
    ),
)


def text_of(draw: Draw) -> str:
    match draw.below(4):
        case 0:
            return "SELECT " + " ".join(draw.of(WORDS) for _ in range(draw.below(25)))
        case 1:
            return "".join(chr(draw.below(0x250) or 1) for _ in range(draw.below(60)))
        case 2:
            words = question(draw).split(" ")
            for _ in range(1 + draw.below(3)):
                place = draw.below(len(words))
                words[place : place + draw.below(2)] = [draw.of(WORDS)] * draw.below(3)
                words = words or ["SELECT"]
            return " ".join(words)
        case _:
            text = question(draw)
            place, width = draw.below(len(text)), draw.below(6)
            return text[:place] + draw.of((*WORDS, "", "", "")) + text[place + width :]


def check(text: str, policy: Schema) -> bool:
    """NotSupported is the only way out but an answer whose every column is a key, a measure or made of those."""
    refusal: NotSupported | None = None
    try:
        plan = parse(text, policy)
        bounded = bound(plan, policy)
        bounded.sql("duckdb")
    except NotSupported as error:
        refusal = error
    if refusal is not None:
        assert refusal.hint
        assert refusal.code
        assert "sqlglot" not in str(refusal)
        return False
    assert isinstance(plan, Select)
    keys = set(aggregate_of(plan).keys)
    assert all(released(expression, keys) for _, expression in plan.columns), "a row-level column in the answer"
    assert aggregate_of(plan).measures
    assert canonical(parse(text, policy)) == canonical(plan)
    return True


def released(expression: Expression, keys: set[Expression]) -> bool:
    if expression in keys:
        return True
    match expression:
        case Measure() | Literal():
            return True
        case Field():
            return False
        case Call(arguments=arguments):
            return all(released(each, keys) for each in arguments)


def run(count: int, word: str) -> tuple[int, int]:
    policy, draw = schema(), Draw(f"fuzz/{word}")
    understood = sum(check(text_of(draw), policy) for _ in range(count))
    return understood, count - understood


def test_a_few() -> None:
    understood, refused = run(600, "few")
    assert understood > 10
    assert refused > 300


@pytest.mark.slow
def test_more() -> None:
    run(4_000, "more")


@pytest.mark.torture
def test_fifty_thousand(record_property: Any) -> None:
    understood, refused = run(50_000, "torture")
    record_property("understood", understood)
    record_property("refused", refused)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ";",
        "SELECT",
        "SELECT " + "(" * 5000 + "1" + ")" * 5000 + " FROM people",
        "SELECT COUNT(*) FROM people WHERE " + "NOT " * 3000 + "flag",
        "SELECT COUNT(*) FROM people WHERE " + " AND ".join(["flag"] * 20_000),
        "SELECT SUM(" + "+".join(["age"] * 3000) + ") FROM people",
        "SELECT SUM(" + "-" * 400 + "age) FROM people",
        "WITH "
        + ", ".join(f"t{i} AS (SELECT x{i}+x{i} AS x{i + 1} FROM t{i - 1})" for i in range(1, 60))
        + " SELECT SUM(x1) FROM t1",
        "WITH t0 AS (SELECT age AS x0 FROM people), "
        + ", ".join(f"t{i} AS (SELECT x{i - 1}+x{i - 1} AS x{i} FROM t{i - 1})" for i in range(1, 60))
        + " SELECT SUM(x59) FROM t59",
        "SELECT COUNT(*) FROM people WHERE age = 1" + "0" * 5000,
        "SELECT COUNT(*) FROM people LIMIT " + "9" * 5000,
        "SELECT COUNT(*) FROM people GROUP BY " + "9" * 5000,
        "SELECT SUM(" + "(age / (1 + " * 30 + "age" + "))" * 30 + ") FROM people",
        "SELECT SUM(" + "(heat / (heat - " * 12 + "heat" + "))" * 12 + ") FROM people",
        "SELECT COUNT(*) FROM people WHERE note LIKE '" + "%a" * 2000 + "'",
        "SELECT\x00 COUNT(*) FROM people",
        "SELECT COUNT(*) FROM people -- \ud800",
    ],
    ids=range(18),
)
def test_texts_made_to_break_readers(text: str) -> None:
    check(text, schema())
