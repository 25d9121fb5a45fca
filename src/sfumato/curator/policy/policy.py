"""The policy of a data set, read from its file: what questions may name, who is protected, how much may be spent."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, final

from sfumato.core import BadInput, BadPolicy
from sfumato.core.canonical import digest
from sfumato.curator.ledger.records import Caps
from sfumato.curator.policy.budget import caps
from sfumato.curator.policy.places import Places
from sfumato.curator.policy.source import Place
from sfumato.queries.schema import Schema, Table

if TYPE_CHECKING:
    from sfumato.curator.home import Home
    from sfumato.curator.ledger.ledger import Ledger
    from sfumato.curator.ledger.store import Store
    from sfumato.curator.policy.document import Document
    from sfumato.curator.policy.problem import Problem
    from sfumato.curator.policy.rules import Lists
    from sfumato.engines.base import Source

_POSITION = re.compile(r" \((?:at line (\d+), column (\d+)|at end of document)\)$")
_NO_MATTER = {"name", "contact", "why", "ledger"}
"""Keys that change neither an answer nor what protects anyone: they are not part of the digest."""


@final
@dataclass(frozen=True)
class Policy:
    """A policy that holds together. `document` is the file, key by key; `warnings` is what its owner should know."""

    document: Document
    places: Places
    folder: Path
    name: str
    lists: Lists
    warnings: tuple[BadPolicy, ...]

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The policy in a file; BadPolicy, with line and column, at the first thing that is wrong with it."""
        policy, wrong = cls.read(path)
        if policy is None:
            raise wrong[0]
        return policy

    @classmethod
    def read(cls, path: str | Path) -> tuple[Self | None, tuple[BadPolicy, ...]]:
        """The policy in a file, or everything that is wrong with it in its order."""
        file = Path(path)
        try:
            text = file.read_bytes().decode("utf-8-sig")
        except OSError:
            raise BadPolicy(
                f"there is no policy at {file}",
                hint="`sfumato init FILE...` proposes one, and --policy says where it is",
            ) from None
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            raise BadPolicy("this is not UTF-8 text", hint="save it as UTF-8", line=line, column=1) from None
        return cls.examine(text, folder=file.parent.absolute(), name=file.name)

    @classmethod
    def parse(cls, text: str, *, folder: Path, name: str = "policy.toml") -> Self:
        """The policy in a text; what it says about files is meant from `folder`."""
        policy, wrong = cls.examine(text, folder=folder, name=name)
        if policy is None:
            raise wrong[0]
        return policy

    @classmethod
    def examine(
        cls, text: str, *, folder: Path, name: str = "policy.toml"
    ) -> tuple[Self | None, tuple[BadPolicy, ...]]:
        """The policy, or everything that is wrong with it in the order of the file."""
        try:
            raw = tomllib.loads(text, parse_float=Decimal)
            places = Places.of(text)
        except (ValueError, RecursionError) as error:
            return None, (_syntax(error, text),)
        from sfumato.curator.policy import rules
        from sfumato.curator.policy.document import Document
        from sfumato.curator.policy.misfits import validated

        document, wrong = validated(raw)
        if document is None:
            return None, _in_order(wrong, places)
        wrong = list(rules.problems(document))
        lists, unread = rules.public_lists(document, folder)
        wrong += unread
        if not wrong:
            wrong = list(rules.column_problems(document, lists))
        if wrong:
            return None, _in_order(wrong, places)
        assert isinstance(document, Document)
        return cls(document, places, folder, name, lists, _in_order(list(rules.warnings(document)), places)), ()

    @property
    def id(self) -> str:
        """The data set, for ever: its budget belongs to this name."""
        return self.document.dataset.id

    @property
    def version(self) -> str:
        """The word that the owner changes when the rows change."""
        return self.document.dataset.version

    @property
    def missing(self) -> tuple[str, ...]:
        return self.document.dataset.missing

    @property
    def ledger_place(self) -> str:
        """Where the books are, `sqlite:FILE` or `postgresql:...`: a file beside the policy, unless it says otherwise."""
        place = self.document.ledger
        at = f"sqlite:{Path(self.name).stem}.ledger" if place is None else place.at
        kind, _, where = at.partition(":")
        return f"sqlite:{self.folder / where}" if kind == "sqlite" else at

    def ledger(self, home: Home) -> Ledger:
        """The books of this data set; a missing ledger stops spending."""
        from sfumato.curator.ledger.ledger import Ledger

        return Ledger(self._store(), dataset=self.id, home=home)

    def new_ledger(self, home: Home) -> Ledger:
        """The first books of a new data set; refused when there are any."""
        from sfumato.curator.ledger.ledger import Ledger

        return Ledger.create(self._store(), dataset=self.id, home=home, caps=self.caps(), policy=self.digest)

    def _store(self) -> Store:
        kind, _, where = self.ledger_place.partition(":")
        if kind == "postgresql":
            from sfumato.curator.ledger.postgres import PostgresStore

            return PostgresStore(where, dataset=self.id)
        from sfumato.curator.ledger.sqlite import SqliteStore

        return SqliteStore(where)

    def caps(self) -> Caps:
        """The most that may be spent, as the ledger keeps it."""
        return caps(self.document)

    @cached_property
    def digest(self) -> str:
        """What protects people and what decides answers, as one number: comments, names and reasons do not count."""
        body = _plain(self.document)
        body["lists"] = {f"{table}.{column}": listed.digest for (table, column), listed in self.lists.items()}
        return digest(body)

    def schema(self) -> Schema:
        """What a question may name. A table that reaches its unit through others says by which steps."""
        from sfumato.curator.policy import rules

        document = self.document
        whose = {name: rules.unit_of(document, name) for name in document.tables}
        tables = tuple(
            Table(
                name,
                rules.columns_of(name, table, self.lists),
                whose[name][0],
                table.public,
                document.dataset.size,
                path=whose[name][1],
                unique=table.unique if table.public else (),
            )
            for name, table in document.tables.items()
        )
        return Schema(tables, rules.schema_unit(document), rules.levels_of(document, self.lists))

    def sources(self, data: Mapping[str, Any] | None = None) -> dict[str, Source]:
        """What an engine opens: every table that a question may name, from its place or from `data`."""
        from sfumato.curator.policy.memory import matched_keys
        from sfumato.engines.base import Source

        given = data or {}
        for name in given:
            if name not in self.document.tables:
                raise BadInput(
                    f"the policy has no table {name}", hint=f"its tables are {', '.join(self.document.tables)}"
                )
        found: dict[str, Source] = {}
        schema = self.schema()
        matched = matched_keys(schema)
        for table in schema.tables:
            rules = self.document.tables[table.name]
            if rules.source is None and table.name not in given:
                continue
            found[table.name] = Source(
                columns={column.name: column.type for column in table.columns},
                location=None if table.name in given else self.location(table.name),
                data=given.get(table.name),
                unit=None if table.path else table.unit,
                missing=self.missing,
                keys=matched[table.name],
                timezone=self.document.dataset.timezone,
            )
        return found

    def lookups(self) -> dict[str, Source]:
        """The public lists whose levels may be asked for, as tables in memory: what the policy was read with."""
        from sfumato.curator.policy.memory import lookups

        return lookups(self.schema())

    def location(self, table: str) -> str | None:
        """Where a table's rows are, from any folder; None when they are handed over in memory."""
        source = self.document.tables[table].source
        return None if source is None else Place.parse(source).within(self.folder, table)


def _syntax(error: Exception, text: str) -> BadPolicy:
    message = str(error) if isinstance(error, tomllib.TOMLDecodeError) else "a value is too large or too deep"
    found = _POSITION.search(message)
    last = text.count("\n") + 1
    line, column = (int(found[1]), int(found[2])) if found and found[1] else (last, 1)
    what = _POSITION.sub("", message)
    return BadPolicy(
        f"this is not TOML: {what[:1].lower()}{what[1:]}",
        hint="text stands in quotes, dates do not, and every key stands once",
        line=line,
        column=column,
    )


def _in_order(problems: list[Problem], places: Places) -> tuple[BadPolicy, ...]:
    return tuple(sorted((each.error(places) for each in problems), key=lambda error: (error.line, error.column)))


def _plain(value: Any) -> Any:
    """Canonical JSON's own types: rationals and dates marked as what they are, keys that say nothing left out."""
    match value:
        case None | bool() | int() | str():
            return value
        case Mapping():
            return {key: _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case Fraction():
            return {"number": str(value)}
        case date():
            return {"date": value.isoformat()}
        case _:
            part = {key: _plain(getattr(value, key)) for key in type(value).model_fields if key not in _NO_MATTER}
            return {key: item for key, item in part.items() if item is not None}
