"""What every engine has to pass: exact answers, bit-equal to plain Python, on hostile tables, without a word of data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from sfumato.core import EngineFailed, NotSupported
from sfumato.engines.base import Engine, Source
from sfumato.queries.bounded import Bounded, bound
from sfumato.queries.ingested import Ingested
from sfumato.queries.places import Places
from sfumato.queries.schema import Column, Schema, Table, Unit
from sfumato.queries.sql.parse import parse
from sfumato.testing import inside, keys, several
from sfumato.testing.oracle import Raw, exact
from sfumato.testing.questions import COLUMNS, Draw, question, rows, schema

Factory = Callable[[Mapping[str, Source]], Engine]


@final
@dataclass(frozen=True, slots=True)
class Checked:
    """How many questions were answered alike, and how many were refused before any engine saw them."""

    answered: int
    refused: int


def check_engine(factory: Factory, questions: int = 200, *, word: str = "sfumato") -> Checked:
    """Raises AssertionError unless the engine's cells equal the oracle's, bit by bit, on every question.

    `factory` opens an engine on tables given as pyarrow data.
    """
    _check_beyond(factory)
    answered = _check_joined(factory, Draw(f"{word}/joined"), questions // 4)
    answered += _check_private(factory, Draw(f"{word}/private"), questions // 4)
    questions, refused = questions - answered, 0
    for place, (policy, found) in enumerate(_tables(word)):
        engine = factory({"people": source(found, policy)})
        _check_failure(engine)
        draw = Draw(f"{word}/questions/{place}")
        share = questions // TABLES + (place < questions % TABLES)
        wanted = answered + share
        while answered < wanted:
            text = question(draw)
            try:
                bounded = bound(parse(text, policy), policy)
            except NotSupported:
                refused += 1
                assert refused < 20 * (questions + 20), "nearly every generated question is refused"
                continue
            compare(engine, bounded, found, text)
            compare(engine, bounded, found, text, ingested=INGESTED)
            answered += 1
    return Checked(answered, refused)


INGESTED = {"people": Ingested("rows_of_person")}


def compare(
    engine: Engine,
    bounded: Bounded,
    found: Raw | Mapping[str, Raw],
    text: str,
    ingested: Mapping[str, Ingested] | None = None,
) -> None:
    """One question, on the engine and by hand; with `ingested`, as on a table that was counted before."""
    here = bounded.vectors(engine.execute(bounded.sql(engine.dialect, ingested or {})))
    for statistic, mine, right in zip(bounded.tally.statistics, here, exact(bounded.tally, found), strict=True):
        parts = (mine.groups, mine.places, mine.weights) if isinstance(mine, Places) else (mine,)
        assert all(part.dtype == "int64" and part.flags.c_contiguous for part in parts)
        assert tuple(mine.tolist()) == right, f"{engine.dialect} differs in {statistic} of: {text}"


def _check_joined(factory: Factory, draw: Draw, questions: int) -> int:
    """Questions over several tables, and inside one unit, where keys repeat, lead nowhere, and belong to two units at once."""
    policy = several.schema(max_rows=2)
    for place in range(questions):
        if place % 20 == 0:
            found = several.tables(draw, 20)
            engine = factory(several.sources(found, policy))
        text = inside.question(draw) if place % 2 else several.question(draw)
        compare(engine, bound(parse(text, policy), policy), found, text)
    return questions


def _check_beyond(factory: Factory) -> None:
    """Sums beyond the largest integer stop there. An engine that failed instead would tell how many rows there are."""
    import pyarrow as pa

    columns = (
        Column("x", "integer", (Fraction(0), Fraction(2**40))),
        Column("y", "integer", (Fraction(0), Fraction(2**20))),
    )
    found: Raw = [{"person": f"p{n}", "x": 2**40, "y": 2**20} for n in range(50)]
    for unit in (None, "person"):
        policy = Schema((Table("people", columns, unit, size=1),), Unit("person" if unit else "row"))
        whose = {name: pa.array([row[name] for row in found]) for name in ("person", "x", "y")}
        engine = factory({"people": Source({"x": "integer", "y": "integer"}, data=pa.table(whose), unit=unit)})
        for measures in ("AVG(x * y)", "SUM(x * y), COUNT(DISTINCT x)"):
            text = f"SELECT {measures} FROM people WHERE x IS NOT NULL AND y IS NOT NULL"
            compare(engine, bound(parse(text, policy), policy), found, text)


def _check_private(factory: Factory, draw: Draw, questions: int) -> int:
    """Questions whose groups nobody lists: the same ones on every engine, of the same units."""
    policy = keys.schema(max_rows=3, max_groups=2)
    found = rows(draw, 60, units=9)
    engine = factory({"people": source(found, policy)})
    answered = 0
    while answered < questions:
        text = keys.question(draw)
        try:
            bounded = bound(parse(text, policy), policy)
        except NotSupported:
            continue
        keys.compare(engine, bounded, found, text)
        answered += 1
    return answered


TABLES = 5


def _tables(word: str) -> Iterator[tuple[Schema, list[dict[str, Any]]]]:
    """A small table, one with few rows per unit, one with many, an empty one, and one where every row is a unit."""
    shapes = ((40, 12, 2), (150, 120, 1), (200, 9, 7), (0, 1, 1))
    for place, (count, units, bound_) in enumerate(shapes):
        yield schema(max_rows=bound_), rows(Draw(f"{word}/rows/{place}"), count, units=units)
    yield schema(unit=None, max_rows=1), rows(Draw(f"{word}/rows/alone"), 80, units=20)


def source(found: list[dict[str, Any]], policy: Schema) -> Source:
    """Rows as a pyarrow table in memory, with integers as doubles where a column says so."""
    table = policy.tables[0]
    return Source(
        {column.name: column.type for column in table.columns},
        data=as_arrow(found),
        unit=table.unit,
        counts=INGESTED[table.name].counts,
        missing=(),
    )


def as_arrow(found: list[dict[str, Any]]) -> Any:
    import pyarrow as pa

    kinds = {"integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_(), "date": pa.date32()}
    columns = {"person": pa.string(), "rows_of_person": pa.int64()}
    columns |= {column.name: kinds.get(column.type, pa.string()) for column in COLUMNS}
    return pa.table({name: pa.array([row[name] for row in found], type=kind) for name, kind in columns.items()})


def _check_failure(engine: Engine) -> None:
    """A statement that cannot run fails with the fixed sentence, and nothing else in sight."""
    try:
        engine.execute("SELECT no_such_column FROM people")
    except EngineFailed as error:
        assert error.__cause__ is None
        assert error.__suppress_context__
        assert "no_such_column" not in str(error), "an engine's own words are shown"
    else:
        raise AssertionError("a statement that cannot run was answered")
