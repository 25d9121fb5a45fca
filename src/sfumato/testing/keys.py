"""Questions whose groups are private, on the hostile tables: which groups an engine finds, and what they hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sfumato.core import Relation
from sfumato.engines.base import Engine
from sfumato.queries.bounded import Bounded
from sfumato.queries.groups import name_of
from sfumato.queries.schema import Schema, Table, Unit
from sfumato.testing import questions
from sfumato.testing.oracle import Raw, found
from sfumato.testing.questions import Draw, condition_text, measure_text

PRIVATE = frozenset({"note", "city", "since", "big", "free"})


def schema(*, max_rows: int = 2, max_groups: int = 2, neighbours: Relation = Relation.ADD_REMOVE) -> Schema:
    """The columns of `questions`, some of them with private keys, NULL a group in some."""
    columns = tuple(
        replace(each, values="private", null="group" if each.name in {"note", "big"} else "drop")
        if each.name in PRIVATE
        else each
        for each in questions.COLUMNS
    )
    return Schema((Table("people", columns, unit="person"),), Unit("person", neighbours, max_rows, max_groups))


def question(draw: Draw) -> str:
    """SQL text over `people`, with one private key at least."""
    private = ("note", "note", "city", "since", "big", "note || city", "LOWER(note)", "LEFT(note, 1)", "since + 1")
    keys = list(
        dict.fromkeys([draw.of(private), *(draw.of(("sex", "flag", "city", "flat")) for _ in range(draw.below(2)))])
    )
    measures = [measure_text(draw) for _ in range(draw.of((0, 1, 1, 2)))]
    shown = [f"{key} AS g{place}" for place, key in enumerate(keys)]
    shown += [f"{measure} AS m{place}" for place, measure in enumerate(measures)]
    where = f" WHERE {condition_text(draw, 1)}" if draw.chance(50) else ""
    return f"SELECT {', '.join(shown)} FROM people{where} GROUP BY {', '.join(keys)}"


def by_hand(bounded: Bounded, raw: Raw | Mapping[str, Raw]) -> dict[str, tuple[int, ...]]:
    """Groups by name, and their cells."""
    return {name_of(keys): cells for keys, cells in found(bounded.tally, raw).items()}


def on_engine(engine: Engine, bounded: Bounded, sql: str | None = None) -> dict[str, tuple[int, ...]]:
    """The same from an engine."""
    groups = bounded.found(engine.execute(sql or bounded.sql(engine.dialect)))
    return {name: tuple(int(cell[place]) for cell in groups.cells) for name, place in groups.places.items()}


def aligned(bounded: Bounded, *tables: Mapping[str, tuple[int, ...]]) -> list[list[list[int]]]:
    """The vectors of several tables over all groups that any of them has; what is not there holds 0."""
    names = sorted({name for each in tables for name in each})
    starts, start = [], 0
    for each in bounded.tally.statistics:
        starts.append((start, each.width))
        start += each.width
    nothing = (0,) * start
    return [
        [[each.get(name, nothing)[at + row] for row in range(width) for name in names] for at, width in starts]
        for each in tables
    ]


def compare(engine: Engine, bounded: Bounded, raw: Any, text: str) -> None:
    """One question, on the engine and by hand."""
    assert bounded.private, f"these groups are public: {text}"
    assert on_engine(engine, bounded) == by_hand(bounded, raw), f"{engine.dialect} differs in private groups of: {text}"
