"""A frame behind one face, and what each of its columns is. Bad input is refused here, before anything is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import narwhals as nw

from sfumato.anonymise.hierarchy import Hierarchy
from sfumato.core.errors import BadInput


@final
@dataclass(frozen=True, slots=True)
class Roles:
    """Which column is what. A column without a role is left out: it might say who somebody is."""

    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    identifiers: tuple[str, ...]
    keep: tuple[str, ...]

    @property
    def named(self) -> tuple[str, ...]:
        return (*self.quasi_identifiers, *self.sensitive, *self.identifiers, *self.keep)


def opened(frame: Any) -> nw.DataFrame[Any]:
    """The frame behind one face. Nothing in it is ever written to."""
    if hasattr(frame, "collect_schema") and hasattr(frame, "collect"):
        raise BadInput("a lazy table has no rows yet", hint="call collect() first")
    # An Arrow table's columns are its data, and its column_names their names; a pandas table's columns are names.
    names = list(getattr(frame, "column_names", getattr(frame, "columns", ())))
    if not all(isinstance(name, str) for name in names):
        raise BadInput("a column's name is not a text", hint="rename columns to words")
    twice = sorted({str(name) for name in names if names.count(name) > 1})
    if twice:
        raise BadInput(f"two columns have the name {twice[0]}", hint="rename one of them")
    try:
        return nw.from_native(frame, eager_only=True)
    except TypeError:
        raise BadInput(
            f"a {type(frame).__name__} is not a table in memory",
            hint="give a pandas, Polars or Arrow table; collect a lazy one first",
        ) from None


def roles_of(
    table: nw.DataFrame[Any],
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    identifiers: Sequence[str],
    keep: Sequence[str],
    hierarchies: Mapping[str, Hierarchy],
    cuts: Mapping[str, Sequence[float]],
) -> Roles:
    groups = (quasi_identifiers, sensitive, identifiers, keep)
    if any(isinstance(group, str) for group in groups):
        raise BadInput("columns are named in a list", hint='write quasi_identifiers=["age", "sex"]')
    roles = Roles(*(tuple(group) for group in groups))
    if not roles.quasi_identifiers:
        raise BadInput("no quasi-identifier was named", hint='write quasi_identifiers=["age", "sex"]')
    named = roles.named
    for name in named:
        if name not in table.columns:
            raise BadInput(f"the table has no column {name}", hint=f"it has {', '.join(table.columns)}")
        if named.count(name) > 1:
            raise BadInput(
                f"column {name} has two roles", hint="a column is a quasi-identifier, sensitive, an identifier, or kept"
            )
    for name in (*hierarchies, *cuts):
        if name not in (*roles.quasi_identifiers, *roles.sensitive):
            raise BadInput(f"{name} has a hierarchy or cut points and no role", hint="name it as a quasi-identifier")
    both = sorted(set(hierarchies) & set(cuts))
    if both:
        raise BadInput(f"column {both[0]} has a hierarchy and cut points", hint="give it one of them")
    return roles


def stacked(world: nw.DataFrame[Any], population: nw.DataFrame[Any], roles: Roles) -> nw.DataFrame[Any]:
    absent = [name for name in roles.quasi_identifiers if name not in population.columns]
    if absent:
        raise BadInput(f"the population table has no column {absent[0]}", hint="it needs every quasi-identifier")
    other = population.select(roles.quasi_identifiers)
    if any(world[name].dtype != other[name].dtype for name in roles.quasi_identifiers):
        raise BadInput("the population table has columns of other types", hint="give both tables the same types")
    if world.implementation != other.implementation:
        raise BadInput(
            "the population is another kind of table", hint="give both as pandas, or both as Polars or Arrow"
        )
    return nw.concat([world, other])
