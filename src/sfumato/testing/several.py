"""Hostile tables that lead to one another, and questions that join them: fan-out, orphans, keys that break their promise."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from fractions import Fraction
from typing import Any, Protocol

from sfumato.core import Relation
from sfumato.engines.base import Source
from sfumato.queries.schema import Column, Schema, Step, Table, Unit

Rows = list[dict[str, Any]]
Tables = dict[str, Rows]


class Chooser(Protocol):
    """What draws whole numbers below n: a word (`questions.Draw`), or a search for counterexamples."""

    def below(self, n: int) -> int: ...


STAYS = (
    Column("ward", "category", values=("a", "b", "c"), null="group"),
    Column("days", "integer", range=(Fraction(0), Fraction(30))),
    Column("admitted", "date", range=(date(2020, 1, 1), date(2021, 12, 31))),
)
DIAGNOSES = (
    Column("code", "category", values=("X", "Y", "Z")),
    Column("severity", "integer", range=(Fraction(-2), Fraction(5)), null="group"),
)
ACTS = (
    Column("kind", "category", values=("x", "y"), null="group"),
    Column("cost", "number", range=(Fraction(0), Fraction(10)), grain=Fraction(1, 2)),
    Column("price", "number", range=(Fraction(0), Fraction(90)), grain=Fraction(10)),
)
RESULTS = (Column("value", "integer", range=(Fraction(1), Fraction(9))),)
WARDS = (
    Column("ward", "text"),
    Column("floor", "category", values=("low", "high")),
    Column("beds", "integer", range=(Fraction(0), Fraction(50))),
)
PERSONS = ("u", "v", "w", "z")
KEYS = {
    "stays": {"person": "", "stay": "stay"},
    "diagnoses": {"stay": "stay", "dx": "dx"},
    "results": {"dx": "dx"},
    "acts": {"person": ""},
    "wards": {},
}
CELLS: Mapping[str, tuple[Any, ...]] = {
    "person": (*PERSONS, *PERSONS, None),
    "stay": (1, 2, 3, 4, 5, 6, None),
    "dx": (1, 2, 3, 4, 5, None),
    "ward": ("a", "b", "c", "d", None),
    "days": (-5, 0, 3, 30, 400, None),
    "admitted": (date(2020, 2, 29), date(2021, 7, 1), date(1999, 1, 1), None),
    "code": ("X", "Y", "Z", "?", None),
    "severity": (-9, -2, 0, 5, None),
    "kind": ("x", "y", "other", None),
    "cost": (float("nan"), float("inf"), -1.0, 0.3, 7.5, 10.0, None),
    "price": (float("nan"), -3.0, 4.0, 15.0, 30.0, 90.0, 1e9, None),
    "value": (0, 1, 5, 99, None),
    "floor": ("low", "high", None),
    "beds": (0, 20, 99, None),
}


def schema(max_rows: int = 2, neighbours: Relation = Relation.ADD_REMOVE) -> Schema:
    """Stays of people; diagnoses of stays; results of diagnoses; acts of people; and wards, which are public."""
    return Schema(
        (
            Table("stays", STAYS, unit="person"),
            Table("diagnoses", DIAGNOSES, unit="person", path=(Step("stay", "stays", "stay"),)),
            Table(
                "results", RESULTS, unit="person", path=(Step("dx", "diagnoses", "dx"), Step("stay", "stays", "stay"))
            ),
            Table("acts", ACTS, unit="person"),
            Table("wards", WARDS, public=True, unique=("ward",)),
        ),
        Unit("person", neighbours, max_rows),
    )


def tables(choose: Chooser, most: int) -> Tables:
    """Rows of every table, up to `most` in each. Keys repeat, lead nowhere, are NULL, and belong to two people at once."""
    return {name: [row(choose, name) for _ in range(choose.below(most + 1))] for name in KEYS}


def row(choose: Chooser, name: str) -> dict[str, Any]:
    return {column: CELLS[column][choose.below(len(CELLS[column]))] for column in _columns(name)}


def _columns(name: str) -> tuple[str, ...]:
    found = schema().table(name)
    assert found is not None
    return tuple(dict.fromkeys((*KEYS[name], *(column.name for column in found.columns))))


def without(found: Tables, person: str) -> Tables:
    """The tables after a person has left, and with them what led to nobody else."""
    stays = [each for each in found["stays"] if each["person"] != person]
    left = {each["stay"] for each in stays if each["person"] is not None}
    gone = {each["stay"] for each in found["stays"] if each["person"] == person} - left - {None}
    diagnoses = [each for each in found["diagnoses"] if each["stay"] not in gone]
    other = {each["dx"] for each in diagnoses}
    lost = {each["dx"] for each in found["diagnoses"] if each["stay"] in gone} - other - {None}
    return found | {
        "stays": stays,
        "diagnoses": diagnoses,
        "results": [each for each in found["results"] if each["dx"] not in lost],
        "acts": [each for each in found["acts"] if each["person"] != person],
    }


def replaced(found: Tables, person: str, choose: Chooser, most: int) -> Tables:
    """The tables after one person has taken another's place: other stays, and acts, under the same name."""
    stays, acts = (
        [row(choose, name) | {"person": person} for _ in range(choose.below(most + 1))] for name in ("stays", "acts")
    )
    there = without(found, person)
    return there | {"stays": there["stays"] + stays, "acts": there["acts"] + acts}


def sources(found: Tables, policy: Schema) -> dict[str, Source]:
    """The tables as pyarrow data in memory, as an engine opens them."""
    import pyarrow as pa

    kinds = {"integer": pa.int64(), "number": pa.float64(), "date": pa.date32()}
    opened = {}
    for table in policy.tables:
        types = {"person": pa.string(), "stay": pa.int64(), "dx": pa.int64()}
        types |= {column.name: kinds.get(column.type, pa.string()) for column in table.columns}
        rows = found[table.name]
        opened[table.name] = Source(
            {column.name: column.type for column in table.columns},
            data=pa.table(
                {name: pa.array([each[name] for each in rows], types[name]) for name in _columns(table.name)}
            ),
            unit=None if table.path else table.unit,
            missing=(),
            keys=KEYS[table.name],
        )
    return opened


# -- questions ---------------------------------------------------------------------------------------------------------

FROMS: tuple[tuple[str, str], ...] = (
    ("diagnoses AS d", "d"),
    ("results AS r", "r"),
    ("stays AS s JOIN diagnoses AS d ON s.stay = d.stay", "sd"),
    ("diagnoses AS d JOIN stays AS s ON d.stay = s.stay AND s.days > 1", "sd"),
    ("diagnoses AS d LEFT JOIN stays AS s ON d.stay = s.stay AND s.ward = 'a'", "ds"),
    ("stays AS s LEFT JOIN diagnoses AS d ON s.stay = d.stay AND d.severity > 0", "sd"),
    ("stays AS s JOIN acts AS a ON s.person = a.person", "sa"),
    ("stays AS s LEFT JOIN acts AS a USING (person)", "sa"),
    ("acts AS a JOIN diagnoses AS d ON a.person = d.person AND a.cost > d.severity", "ad"),
    ("stays AS s JOIN wards AS w ON s.ward = w.ward", "sw"),
    ("stays AS s LEFT JOIN wards AS w USING (ward)", "sw"),
    ("wards AS w JOIN stays AS s ON w.ward = s.ward AND w.beds > 0", "sw"),
    ("results AS r JOIN diagnoses AS d ON r.dx = d.dx JOIN stays AS s ON s.stay = d.stay", "rds"),
    ("stays AS s JOIN diagnoses AS d ON s.stay = d.stay LEFT JOIN wards AS w ON s.ward = w.ward", "sdw"),
    ("stays AS s JOIN acts AS a ON s.person = a.person LEFT JOIN diagnoses AS d ON d.stay = s.stay", "sad"),
    ("acts AS a LEFT JOIN (SELECT person, ward, days + 1 AS days FROM stays WHERE days > 2) AS s USING (person)", "as"),
    ("(SELECT * FROM stays WHERE ward <> 'b') AS s JOIN diagnoses AS d ON d.stay = s.stay", "sd"),
    ("stays AS s JOIN (SELECT person, days, ward FROM stays) AS z ON s.person = z.person AND z.days > s.days", "s"),
)
GROUPS = {
    "s": ("s.ward", "s.days > 2"),
    "d": ("d.code", "d.severity"),
    "a": ("a.kind", "a.cost > 5"),
    "r": ("r.value",),
    "w": ("w.floor", "COALESCE(w.floor, 'low')"),
}
NUMBERS = {"s": "s.days", "d": "d.severity", "a": "a.cost", "r": "r.value", "w": "w.beds"}
MEASURES = (
    "COUNT(*)",
    "COUNT({})",
    "COUNT(DISTINCT {})",
    "SUM({})",
    "AVG({})",
    "VAR_POP({})",
    "SUM({}) FILTER (WHERE {} > 2)",
)


def question(choose: Chooser) -> str:
    """SQL text over joined tables."""

    def of(choices: Any) -> Any:
        return choices[choose.below(len(choices))]

    clause, sides = of(FROMS)
    keys = list(dict.fromkeys(of(GROUPS[of(sides)]) for _ in range(choose.below(3))))
    numbers = [NUMBERS[side] for side in sides]
    measures = []
    for _ in range(1 + choose.below(2)):
        x = of(numbers) if choose.below(3) else f"{of(numbers)} - {of(numbers)} + 1"
        measures.append(of(MEASURES).format(x, x))
    if choose.below(4) == 0 and sides[0] != "w":
        measures.append(f"COUNT(DISTINCT {sides[0]}.person)")
    where = of(
        (
            "",
            "",
            f" WHERE {of(numbers)} > 1",
            f" WHERE {of(numbers)} IS NOT NULL AND NOT {of(GROUPS[sides[0]])} IS NULL",
        )
    )
    shown = [*(f"{key} AS g{place}" for place, key in enumerate(keys)), *measures]
    return f"SELECT {', '.join(shown)} FROM {clause}{where}" + (f" GROUP BY {', '.join(keys)}" if keys else "")
