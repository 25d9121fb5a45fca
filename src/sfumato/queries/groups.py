"""Private groups: found by an engine, called by their values, told in the order of their names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self, final

from sfumato.core import Bug
from sfumato.queries.expression import encode, plain
from sfumato.queries.infer import Type
from sfumato.queries.plan import Statistic
from sfumato.queries.schema import Value

if TYPE_CHECKING:
    import numpy as np

    Cells = np.ndarray[tuple[int], np.dtype[np.int64]]


def name_of(keys: tuple[Value, ...]) -> str:
    """The one text that stands for a group."""
    return json.dumps([encode(each) for each in keys], separators=(",", ":"), ensure_ascii=True)


def keys_of(name: str) -> tuple[Value, ...]:
    """The group that a name stands for."""
    return tuple(_decoded(each) for each in json.loads(name))


def _decoded(each: Any) -> Value:
    match each:
        case {"number": text}:
            return plain(Fraction(text))
        case {"date": text}:
            return date.fromisoformat(text)
        case None | bool() | str():
            return each
    raise Bug("a group has a name that no value has")


def value_of(raw: Any, of: Type) -> Value:
    """What an engine returns of a key: numbers are in steps of their grain."""
    if of.kind == "number" and raw is not None:
        return plain(Fraction(int(raw)) * (of.grain or 1))
    found: Value = raw
    return found


@final
@dataclass(frozen=True, slots=True)
class Groups:
    """Groups by name with the cells of each. It is what an engine returns, so it lives in a box."""

    places: dict[str, int]
    cells: tuple[Cells, ...]

    @classmethod
    def of(cls, keys: Sequence[tuple[Value, ...]], cells: Sequence[Any]) -> Self:
        names = {name_of(each): place for place, each in enumerate(keys)}
        if len(names) != len(keys):
            raise Bug("an engine returned a group twice")
        return cls(names, tuple(cells))

    def held(self) -> dict[str, int]:
        """How many units each has: the first cell."""
        counts = self.cells[0].tolist()
        return {name: counts[place] for name, place in self.places.items()}

    def vector(self, statistics: tuple[Statistic, ...], at: int, names: Sequence[str]) -> Cells:
        """One statistic of the groups of these names: all of its first cell, then of its second."""
        import numpy as np

        start = sum(each.width for each in statistics[:at])
        places = np.fromiter((self.places[name] for name in names), dtype=np.int64, count=len(names))
        rows = [np.asarray(self.cells[start + row])[places] for row in range(statistics[at].width)]
        return np.ascontiguousarray(np.concatenate(rows).astype(np.int64))
