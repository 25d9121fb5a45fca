"""Hostile tables, and questions about them, drawn from a word: the same word gives the same ones everywhere."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import Any, TypeVar, final

from sfumato.core import Relation
from sfumato.queries.schema import Column, Schema, Table, Unit

T = TypeVar("T")

ODD = (
    "",
    " ",
    "é",
    "e\u0301",
    "ß",
    "İ",
    "ı",
    "名前",
    "👩‍👩‍👧",
    "%",
    "_",
    "'",
    '"',
    "a b",
    "A",
    "a",
    "Z",
    "NULL",
    "\n",
    "\u00a0",
    "ﬁ",
)
WHOLES = (0, 1, -1, 7, 17, 42, 99, 100, 101, 2**31, -(2**31), 2**53 + 1, 2**63 - 1, -(2**63), 10**6)
REALS = (
    *(
        0.0,
        -0.0,
        0.005,
        0.015,
        0.285,
        0.29,
        1.005,
        2.675,
        0.1 + 0.2,
        9.995,
        9.999999999999998,
        10.0,
        10.000000000000002,
    ),
    *(-50.05, -49.95, 49.95, 1e-320, 1e300, -1e300, math.nan, math.inf, -math.inf, 3.14159, 5.5, 7.25, 1e17),
)
DAYS = (
    *(date(1, 1, 1), date(1969, 12, 31), date(1970, 1, 1), date(2000, 2, 29), date(2019, 12, 31), date(2020, 1, 1)),
    *(date(2020, 12, 28), date(2021, 1, 1), date(2021, 1, 3), date(2021, 1, 4), date(2021, 6, 15), date(9999, 12, 31)),
)


@final
@dataclass
class Draw:
    """Choices from a word, the same on every machine. Not noise, and never used for it."""

    word: str
    _count: int = field(default=0)

    def below(self, n: int) -> int:
        self._count += 1
        digest = hashlib.sha256(f"{self.word}/{self._count}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % n

    def of(self, choices: Sequence[T]) -> T:
        return choices[self.below(len(choices))]

    def chance(self, percent: int) -> bool:
        return self.below(100) < percent


COLUMNS = (
    Column("sex", "category", values=("F", "M", "", "é"), null="group"),
    Column("city", "text", values=("e\u0301", "é", "名前", "'", "a b"), null="drop"),
    Column("rank", "category", values=("low", "é", "'", "high"), ordered=True),
    Column("age", "integer", range=(Fraction(0), Fraction(120)), null="group"),
    Column("income", "integer", range=(Fraction(-1000), Fraction(1_000_000))),
    Column("score", "number", range=(Fraction(0), Fraction(10)), grain=Fraction(1, 100)),
    Column("heat", "number", range=(Fraction(-50), Fraction(50)), grain=Fraction(1, 10)),
    Column("flat", "number", range=(Fraction(0), Fraction(10_000)), grain=Fraction(1000), null="group"),
    Column("free", "number"),
    Column("big", "integer"),
    Column("flag", "boolean", null="group"),
    Column("day", "date", range=(date(2019, 12, 1), date(2021, 6, 30))),
    Column("since", "date"),
    Column("note", "text"),
)


def schema(*, unit: str | None = "person", max_rows: int = 2, neighbours: Relation = Relation.ADD_REMOVE) -> Schema:
    table = Table("people", COLUMNS, unit=unit)
    return Schema((table,), Unit("person" if unit else "row", neighbours, max_rows))


def rows(draw: Draw, count: int, *, units: int) -> list[dict[str, Any]]:
    """Rows full of NULL, NaN, infinities, huge integers, empty strings, odd Unicode and repeated units."""
    names = [*ODD[: min(units, len(ODD))], *(f"u{place}" for place in range(max(0, units - len(ODD))))]
    found = []
    for _ in range(count):
        unit = names[0] if draw.chance(20) else draw.of(names)  # one unit has many rows
        found.append({"person": None if draw.chance(5) else unit, **{c.name: _cell(draw, c) for c in COLUMNS}})
    totals: dict[Any, int] = {}
    for row in found:
        totals[row["person"]] = totals.get(row["person"], 0) + 1
    return [{**row, "rows_of_person": totals[row["person"]]} for row in found]


def _cell(draw: Draw, column: Column) -> Any:
    if draw.chance(15):
        return None
    match column.type:
        case "integer":
            return draw.below(121) if draw.chance(60) else draw.of(WHOLES)
        case "number":
            return draw.below(12_000) / 1000 - 1 if draw.chance(60) else draw.of(REALS)
        case "boolean":
            return draw.chance(50)
        case "date":
            return draw.of(DAYS)
        case _:
            listed = column.values if isinstance(column.values, tuple) else ODD
            return draw.of(listed) if draw.chance(70) else draw.of(ODD)


# -- questions ---------------------------------------------------------------------------------------------------------


def question(draw: Draw) -> str:
    """SQL text over `people`; most are understood, some are refused."""
    keys = [key_text(draw) for _ in range(draw.of((0, 1, 1, 1, 2)))]
    measures = [measure_text(draw) for _ in range(draw.of((1, 1, 2, 3)))]
    shown = [f"{key} AS g{place}" for place, key in enumerate(keys)]
    shown += [f"{measure} AS m{place}" for place, measure in enumerate(measures)]
    source = "people"
    if draw.chance(20):
        source = f"(SELECT * FROM people WHERE {condition_text(draw, 1)}) AS inner_rows"
    text = f"SELECT {', '.join(shown)} FROM {source}"
    if draw.chance(60):
        text += f" WHERE {condition_text(draw, 2)}"
    if keys:
        text += " GROUP BY " + ", ".join(f"g{place}" for place in range(len(keys)))
    return text


def key_text(draw: Draw) -> str:
    return draw.of(
        (
            *("HISTOGRAM(age, 0, 18, 65.5, 100)", "HISTOGRAM(heat, [-10, 0, 0.05, 30])"),
            *("sex", "sex", "city", "flag", "flat", "year(day)", "quarter(day)", "date_trunc('month', day)"),
            *("week(day)", "isodow(day)", "FLOOR(age / 10)", "age // 25", "UPPER(sex)", "COALESCE(city, 'none')"),
            *(
                "ROUND(heat, -1)",
                "FLOOR(heat / 25)",
                "age % 3",
                "big % 3",
                "substring(sex, 1, 1)",
                "score > 5",
                "sex || city",
            ),
            f"CASE WHEN {condition_text(draw, 1)} THEN 'yes' WHEN {condition_text(draw, 1)} THEN 'no' END",
            f"CASE WHEN {condition_text(draw, 1)} THEN sex ELSE '-' END",
        )
    )


def measure_text(draw: Draw) -> str:
    x = number_text(draw, 2)
    text = draw.of(
        (
            *(
                "COUNT(*)",
                "COUNT(DISTINCT person)",
                "COUNT(DISTINCT note)",
                f"COUNT(DISTINCT {x})",
                f"COUNT({x})",
                "COUNT(free)",
                "COUNT(note)",
            ),
            *(f"SUM({x})", f"SUM({x})", f"AVG({x})", f"AVG({x})", f"VARIANCE({x})", f"VAR_POP({x})", f"STDDEV({x})"),
            f"SUM(CASE WHEN {condition_text(draw, 1)} THEN 1 ELSE 0 END)",
            *("MEDIAN(day)", "QUANTILE(day + 3, 0.2, 0.8)", "MEDIAN(rank)"),
            *(f"MEDIAN({x})", f"QUANTILE({x}, 0.25)", f"QUANTILE({x}, {draw.of(('0.1, 0.5, 0.9', '0, 1', '0.3'))})"),
        )
    )
    return (
        f"{text} FILTER (WHERE {condition_text(draw, 1)})"
        if draw.chance(15) and "DISTINCT person" not in text
        else text
    )


def number_text(draw: Draw, depth: int) -> str:
    plain = (
        "age",
        "income",
        "score",
        "heat",
        "flat",
        "year(day)",
        "length(substring(note, 1, 9))",
        "(day - DATE '2020-01-01')",
    )
    if depth == 0 or draw.chance(35):
        return draw.of((*plain, *plain, "3", "0.5", "-2", "LEAST(100, GREATEST(big, -3))"))
    x, y = number_text(draw, depth - 1), number_text(draw, depth - 1)
    return draw.of(
        (
            *(
                f"({x} + {y})",
                f"({x} - {y})",
                f"({x} * {draw.of(('2', '0.1', '-3', '1.25'))})",
                f"({x} / {y})",
                f"(- {x})",
            ),
            *(f"({x} * {y})", f"ABS({x})", f"FLOOR({x})", f"CEIL({x} / 7)", f"ROUND({x}, {draw.of(('0', '1', '-1'))})"),
            *(
                f"({x} % {draw.of(('2', '7', '2.5'))})",
                f"LEAST({x}, {y})",
                f"GREATEST({x}, {y}, 1)",
                f"COALESCE({x}, {y})",
            ),
            *(
                f"NULLIF({x}, {y})",
                f"CASE WHEN {condition_text(draw, 0)} THEN {x} ELSE {y} END",
                f"CAST(flag AS INTEGER) * {x}",
            ),
        )
    )


def condition_text(draw: Draw, depth: int) -> str:
    if depth > 0 and draw.chance(45):
        one, other = condition_text(draw, depth - 1), condition_text(draw, depth - 1)
        return draw.of((f"({one} AND {other})", f"({one} OR {other})", f"NOT ({one})", f"({one}) IS NOT TRUE"))
    x, y = number_text(draw, 1), number_text(draw, 0)
    compare = draw.of(("<", "<=", ">", ">=", "=", "<>", "IS DISTINCT FROM"))
    return draw.of(
        (
            *(f"{x} {compare} {y}", f"{x} {compare} {y}", f"age BETWEEN {draw.below(60)} AND {draw.below(120)}"),
            *(
                f"sex {compare} {_quoted(draw)}",
                f"sex IN ({_quoted(draw)}, 'F')",
                f"city NOT IN ({_quoted(draw)}, NULL)",
            ),
            *(
                f"note LIKE {draw.of(_PATTERNS)}",
                f"note ILIKE {draw.of(_PATTERNS)}",
                "note IS NULL",
                "free IS NOT NULL",
            ),
            *(
                f"LOWER(note) = LOWER({_quoted(draw)})",
                f"TRIM(note) = {_quoted(draw)}",
                f"starts_with(note, {_quoted(draw)})",
            ),
            *(
                "flag",
                "flag IS FALSE",
                f"day {compare} '2020-06-15'",
                f"since {compare} DATE '1970-01-01'",
                "big > 100",
            ),
            *(
                f"since > DATE '{draw.of(DAYS).isoformat()}'",
                "day + 30 > '2021-01-01'",
                "day > since",
                "note || city = 'aé'",
            ),
            *(
                "month(since) = 2",
                "week(since) IN (1, 53)",
                "length(note) > 1",
                f"note < {_quoted(draw)}",
                "LEFT(note, 1) = 'a'",
            ),
        )
    )


_PATTERNS = ("'%'", "'_'", "'__'", "'a%'", "'%é'", "'%''%'", "'A'", "'_\u0301'", "''")


def _quoted(draw: Draw) -> str:
    return "'" + draw.of(ODD).replace("'", "''") + "'"
