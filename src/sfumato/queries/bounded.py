"""A question ready to be priced and asked: what the engine computes, how far one unit moves it, which groups there are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

from sfumato.core import Bug, Sensitivity
from sfumato.core.neighbours import Neighbours
from sfumato.queries.groups import Groups, value_of
from sfumato.queries.infer import infer
from sfumato.queries.ingested import Ingested, counted_at_ingest
from sfumato.queries.places import Places
from sfumato.queries.plan import (
    Having,
    Limit,
    Plan,
    Ranked,
    Released,
    Select,
    Sort,
    Tally,
    Weigh,
    aggregate_of,
    canonical,
    tables_of,
)
from sfumato.queries.rewrites import RULES, SPARSE, Rule, in_order
from sfumato.queries.rows import scope_of
from sfumato.queries.schema import Levels, Schema, Value
from sfumato.queries.stability import sensitivities, together

if TYPE_CHECKING:
    import numpy as np

    Vector = np.ndarray[tuple[int], np.dtype[np.int64]]

_NOTHING: Mapping[str, Ingested] = MappingProxyType({})


@final
@dataclass(frozen=True)
class Bounded:
    """The canonical question; the tally that an engine executes; one sensitivity per statistic of the tally."""

    question: Released
    tally: Tally
    sensitivities: tuple[Sensitivity, ...]
    about: Neighbours
    levels: tuple[Levels, ...] = ()
    """The public lists with levels that keys may be of."""
    rows: int = 0
    """About how many rows the tables have, as the policy declares; 0 where it does not. Nothing is promised of it."""
    fact: bool = False
    """Whether the owner knows that the bound cuts nobody off: one table, whose units have no more rows."""

    @property
    def whole(self) -> int:
        """What a row of full weight adds to a count: answers are cells divided by it."""
        if not isinstance(self.tally.child, Weigh):
            raise Bug("a tally without weights was about to be used")
        return self.tally.child.whole

    @cached_property
    def key(self) -> str:
        """The canonical text of what is released: equal for questions that differ only in what is done afterwards."""
        return canonical(self.tally)

    @property
    def sensitivity(self) -> Sensitivity:
        """All statistics as one vector."""
        return together(self.sensitivities)

    @property
    def private(self) -> bool:
        """Whether which groups there are is released too, above a threshold."""
        return self.tally.private

    @property
    def size(self) -> int:
        """How many public groups there are; 1 without keys."""
        return math.prod(len(key.values) for key in self.tally.keys)

    def groups(self) -> tuple[tuple[Value, ...], ...]:
        """The public keys of every group, in the order of the vectors; the last key runs fastest."""
        if self.private:
            raise Bug("private groups were about to be listed")
        return tuple(product(*(key.values for key in self.tally.keys)))

    def sql(self, dialect: str, ingested: Mapping[str, Ingested] = _NOTHING) -> str:
        """The one statement that an engine executes. `ingested`: what is known by table, where that spares counting."""
        from sfumato.queries.sql.emit import emit

        return emit(counted_at_ingest(self.tally, ingested), dialect)

    def vectors(self, exact: Any) -> tuple[Any, ...]:
        """The engine's table as one vector per statistic: all groups of its first cell, then of its second, ...

        Groups without rows, which the engine does not return, are 0. For quantiles it is places and their weights.
        """
        import numpy as np

        statistics = self.tally.statistics
        if any(isinstance(each, Ranked) for each in statistics):
            return self._parted(exact)
        cells = np.zeros((sum(each.width for each in statistics), self.size), dtype=np.int64)
        places = self._places(exact)
        listed = places >= 0
        for position, row in enumerate(cells):
            row[places[listed]] = exact.column(f"c{position}").to_numpy()[listed]
        vectors, start = [], 0
        for each in statistics:
            vectors.append(np.ascontiguousarray(cells[start : start + each.width].reshape(-1)))
            start += each.width
        return tuple(vectors)

    def _parted(self, exact: Any) -> tuple[Any, ...]:
        """The lines of each quantile apart from those of all other statistics."""
        plain = tuple(each for each in self.tally.statistics if not isinstance(each, Ranked))
        others = replace(self, tally=replace(self.tally, statistics=plain))
        marks = exact.column("p").to_numpy()
        dense = iter(others.vectors(exact.filter(marks == -1)) if plain else ())
        groups = self._places(exact)
        found: list[Vector | Places] = []
        for place, each in enumerate(self.tally.statistics):
            if not isinstance(each, Ranked):
                found.append(next(dense))
                continue
            mine = (marks == place) & (groups >= 0)
            where, weight = (exact.column(name).to_numpy()[mine] for name in ("b", "c0"))
            found.append(Places.of(groups[mine], where, weight))
        return tuple(found)

    def present(self, exact: Any) -> tuple[list[list[Value]], Vector]:
        """The engine's table as it is: for each key its value in every group that there is, and the groups' first cells."""
        import numpy as np

        scope = scope_of(self.tally.child)
        columns = []
        for position, key in enumerate(self.tally.keys):
            of = infer(key.of, scope)
            columns.append([value_of(each, of) for each in exact.column(f"k{position}").to_pylist()])
        return columns, np.ascontiguousarray(exact.column("c0").to_numpy(), dtype=np.int64)

    def found(self, exact: Any) -> Groups:
        """The engine's table as private groups by name, each with its cells."""
        scope = scope_of(self.tally.child)
        types = [infer(key.of, scope) for key in self.tally.keys]
        columns = [exact.column(f"k{position}").to_pylist() for position in range(len(types))]
        keys = [tuple(map(value_of, row, types)) for row in zip(*columns, strict=True)]
        width = sum(each.width for each in self.tally.statistics)
        return Groups.of(keys, [exact.column(f"c{position}").to_numpy() for position in range(width)])

    def _places(self, exact: Any) -> Any:
        """Where each row of the engine's table belongs among the groups; -1 for one that is not public.

        Statements ask for none of those. If an engine found one all the same, saying so would tell that a row has it.
        """
        import numpy as np

        from sfumato.queries.sql.formula import key_value

        scope = scope_of(self.tally.child)
        places = np.zeros(exact.num_rows, dtype=np.int64)
        for position, key in enumerate(self.tally.keys):
            grain = infer(key.of, scope).grain
            known = {key_value(value, grain): place for place, value in enumerate(key.values)}
            here = np.array(
                [known.get(value, -1) for value in exact.column(f"k{position}").to_pylist()], dtype=np.int64
            )
            places = np.where((places < 0) | (here < 0), -1, places * len(key.values) + here)
        return places


def bound(plan: Released, schema: Schema) -> Bounded:
    """The question with every unit's reach bounded, by the schema's unit."""
    return _bound(plan, schema, RULES)


def sparse(plan: Released, schema: Schema) -> Bounded:
    """The same for mechanisms that take only the groups that there are (`Bounded.present`), however many there could be."""
    return _bound(plan, schema, SPARSE)


def _bound(plan: Released, schema: Schema, rules: tuple[Rule, ...]) -> Bounded:
    tally: Plan = plan
    for rule in rules:
        tally = rule(tally, schema)
    if not isinstance(tally, Tally):
        raise Bug("the rewrites did not end in a tally")
    question = in_order(plan, schema)
    assert isinstance(question, Having | Limit | Select | Sort | type(aggregate_of(plan)))
    about = Neighbours(schema.unit.neighbours, schema.unit.kind)
    rows = max((table.size or 0 for table in schema.tables if table.name in tables_of(tally)), default=0)
    fact = schema.unit.fact and of_own_rows(tables_of(tally), schema)
    return Bounded(question, tally, sensitivities(tally, about), about, schema.levels, rows, fact)


def of_own_rows(tables: Sequence[str], schema: Schema) -> bool:
    """Whether what is known of units' rows can be said of these tables: one, whose rows say themselves whose they are.

    It says nothing of a table that leads to such a one: its rows may be many.
    """
    found = [schema.table(name) for name in tables]
    return len(found) == 1 and found[0] is not None and not found[0].path
