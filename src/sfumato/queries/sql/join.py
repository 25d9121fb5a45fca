"""Two relations beside one another: on the unit, on a declared link, or on a unique public key, and on nothing else.

Why a join needs no price of its own: rows of one unit meet rows of the same unit, or public rows, so what a unit has
after the join depends on its own rows alone; weights are taken there (`stability.sensitivities`). A key that is declared
and does not hold what it promises changes what is counted, and never how far a unit reaches.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal as OneOf
from typing import final

from sfumato.core import NotSupported
from sfumato.queries.expression import Call, Expression, Field, fields
from sfumato.queries.plan import Derive, Join, scans_of
from sfumato.queries.sql.names import Names, Relation, hidden, lookup
from sfumato.queries.sql.scalar import Typed, apply

MOST = 16
"""A question reads at most so many tables, each counted as often as it is read."""


@final
class Joining:
    """Two sides on their way to being one relation: conditions are given one by one, then `joined` looks at them."""

    def __init__(self, left: Relation, names: Names, right: Relation, alias: str, *, outer: bool) -> None:
        count = len(scans_of(left.rows)) + len(scans_of(right.rows))
        if count > MOST:
            raise NotSupported("too many tables are joined", hint=f"join at most {MOST}", code="SF010")
        self.left, self.names, self.alias, self.outer = left, names, alias, outer
        self.right = _named_apart(right, outer=outer).tagged(_tag(left))
        self.both = Names((*names.parts, (alias, self.right.columns)), names.shared, names.computed)
        self.shared = names.shared
        self.unit = False
        self.link: tuple[str, str] | None = None
        self.on: list[Expression] = []

    def same(self, name: str, other: str = "") -> None:
        """USING (name): a column of both sides, or one of this side and the `other` one."""
        right = lookup(self.right.columns, other or name)
        if right is None:
            raise hidden()
        left = self.names.find(name)
        if not self.equal(left, right):
            self.where(apply("eq", left, right))
        if name.casefold() == (other or name).casefold():
            self.shared |= {name.casefold()}
            self.both = replace(self.both, shared=self.shared)

    def equal(self, one: Typed, other: Typed) -> bool:
        """Whether an equality of two columns is about the unit or a declared link; it is taken note of if so."""
        if not (isinstance(one.expression, Field) and isinstance(other.expression, Field)):
            return False
        left, right = one.expression.name, other.expression.name
        if left in self.right.fields:
            left, right = right, left
        if left in self.left.units and right in self.right.units:
            self.unit = True
            return True
        linked = _linked(self.left, left, self.right, right) or _linked(self.right, right, self.left, left)
        if linked and self.link is None:
            self.link = (left, right)
            return True
        if not linked and one.type.kind == other.type.kind == "key" and right in self.right.fields:
            raise _not_led_to()
        return False

    def where(self, condition: Typed) -> None:
        """Any other condition of the ON."""
        self.on.append(condition.expression)

    def joined(self) -> tuple[Relation, Names]:
        """One relation; refused if it could multiply a person beyond what the weights of their own rows can hold."""
        left, right = self.left, self.right
        if left.owned and right.owned:
            if not (self.unit or self.link):
                raise _not_on_the_unit()
            rows = Join(left.rows, right.rows, self._kind, tuple(self.on), self.link)
        elif right.owned:
            if self.outer:
                raise NotSupported(
                    "a LEFT join from a public table would show rows that belong to nobody",
                    hint="start from the table of people, or write INNER JOIN",
                    code="SF010",
                )
            rows = Join(right.rows, left.rows, "inner", tuple(self.on), None, self._unique(left, right))
        else:
            rows = Join(left.rows, right.rows, self._kind, tuple(self.on), None, self._unique(right, left))
        return self._relation(rows), self._names()

    @property
    def _kind(self) -> OneOf["inner", "left"]:
        return "left" if self.outer else "inner"

    def _unique(self, public: Relation, other: Relation) -> str:
        """The unique column of a public table that the ON fixes by the row of the other side."""
        for condition in self.on:
            if isinstance(condition, Call) and condition.operation == "eq":
                for key, value in (condition.arguments, condition.arguments[::-1]):
                    unique = isinstance(key, Field) and key.name in public.uniques
                    if unique and isinstance(key, Field) and fields(value) <= other.fields:
                        return key.name
        raise NotSupported(
            "this public table is not joined on a column that holds each value once, so it could multiply a person's rows",
            hint="join on its key, which the owner declares in the policy: unique = [KEY]",
            code="SF010",
        )

    def _relation(self, rows: Join) -> Relation:
        left, right = self.left, self.right
        return Relation(
            rows,
            {},
            left.fields | right.fields,
            units=left.units if self.outer else left.units | right.units,
            links=left.links | right.links,
            keys=left.keys | right.keys,
            uniques=frozenset() if left.owned or right.owned else left.uniques,
            owned=left.owned or right.owned,
            limits={**left.limits, **right.limits},
        )

    def _names(self) -> Names:
        columns = dict(self.right.columns)
        if self.outer:  # where nothing matches, everything on the right is NULL
            columns = {name: replace(of, type=replace(of.type, nullable=True)) for name, of in columns.items()}
        return replace(self.both, parts=(*self.names.parts, (self.alias, columns)), shared=self.shared)


def _linked(one: Relation, field: str, other: Relation, key: str) -> bool:
    """Whether a declared foreign key leads from a field of one side to a key of the other."""
    leads = {(table, name) for link, table, name in one.links if link == field}
    return any(found == key and (table, name) in leads for found, table, name in other.keys)


def _tag(left: Relation) -> str:
    """What the fields of the right side are called by, so that no field of the left has the same name."""
    place = len(scans_of(left.rows)) + 1
    while any(name.startswith(f"{place}:") for name in left.fields):
        place += 1
    return f"{place}:"


def _named_apart(right: Relation, *, outer: bool) -> Relation:
    """Computed columns on the outer side as columns of the rows: an expression would be there where no row is."""
    computed = [(name, of) for name, of in right.columns.items() if not isinstance(of.expression, Field)]
    if not outer or not computed:
        return right
    columns = dict(right.columns)
    derived: list[tuple[str, Expression]] = []
    for name, of in computed:
        place = len(right.fields) + len(derived)
        while f"={place}" in right.fields:
            place += 1
        derived.append((f"={place}", of.expression))
        columns[name] = replace(of, expression=Field(f"={place}"))
    fresh = right.fields.union(name for name, _ in derived)
    return replace(right, rows=Derive(right.rows, tuple(derived)), columns=columns, fields=fresh)


def _not_on_the_unit() -> NotSupported:
    return NotSupported(
        "tables of people are joined on something else than the unit, so one person's rows could meet another's",
        hint="write ON a.unit = b.unit, with the columns that name the unit, or join on a declared link",
        code="SF010",
    )


def _not_led_to() -> NotSupported:
    return NotSupported(
        "neither of these columns leads to the table of the other, so one person's rows could meet another's",
        hint="join each of the two with the table that both lead to, on its key; or join them on the unit",
        code="SF022",
    )
