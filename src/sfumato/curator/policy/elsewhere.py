"""What a policy says, beside the tables of a server or a cluster: names, types and rights. No row is read there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.core import BadInput, BadPolicy, EngineFailed
from sfumato.curator.opening import engine_for
from sfumato.curator.policy.places import KeyPath
from sfumato.curator.policy.policy import Policy
from sfumato.curator.policy.problem import Problem
from sfumato.curator.policy.scan import mismatches
from sfumato.curator.policy.source import Place

if TYPE_CHECKING:
    from sfumato.engines.base import Engine, Source

KINDS = ("postgresql", "spark")
_CATALOGUE = "pg_catalog.pg_class"
"""A table that everyone who may connect may look at."""


def elsewhere(policy: Policy) -> tuple[str, ...]:
    """The tables whose rows are on a server or a cluster."""
    found = ((name, policy.document.tables[name].source) for name in policy.document.tables)
    return tuple(name for name, source in found if source is not None and Place.parse(source).kind in KINDS)


def look_elsewhere(policy: Policy) -> tuple[BadPolicy, ...]:
    """Everything that would keep a question about these tables from being computed; EngineFailed if nobody answers."""
    names, sources = elsewhere(policy), policy.sources()
    if not names:
        return ()
    try:
        _reach(names[0], sources[names[0]])
        found = [problem for name in names for problem in _of_table(policy, name, sources[name])]
        if not found:
            found = list(_together(sources | policy.lookups()))
    except ImportError:
        raise _unreachable(
            names[0], "its driver is not installed: pip install 'sfumato[postgres]' or [spark]"
        ) from None
    return tuple(each.error(policy.places) for each in found)


def _reach(name: str, source: Source) -> None:
    """Whether the server lets us in at all: what it refuses afterwards is a matter of rights."""
    kind, _, where = str(source.location).partition(":")
    if kind != "postgresql":
        return  # a cluster says so when the table is looked for
    from sfumato.engines.postgres import place_of

    server = place_of(f"{kind}:{where}", name).where
    try:
        _closed(engine_for({name: _bare(source, location=f"{kind}:{server}:{_CATALOGUE}")}))
    except EngineFailed:
        hint = "check that the server runs and lets you in (a service file or PGPASSFILE holds the password)"
        raise _unreachable(name, hint) from None


def _of_table(policy: Policy, name: str, source: Source) -> Iterator[Problem]:
    path: KeyPath = ("tables", name, "source")
    try:
        engine = engine_for({name: _bare(source)})
    except BadInput as error:
        yield Problem(path, f"the source of {name}: {error.message}", error.hint, "SF019")
        return
    except EngineFailed:
        if str(source.location).startswith("spark:"):
            hint = "check SPARK_REMOTE or SPARK_MASTER, Java, and the name of the table"
            raise _unreachable(name, hint) from None
        hint = "grant USAGE on its schema, and SELECT on the columns that the policy names"
        yield Problem(path, f"the server does not let us look at the source of {name}", hint, "SF019")
        return
    found = engine.schema(name)
    _closed(engine)
    yield from mismatches(policy, name, dict.fromkeys(found))
    for column in dict.fromkeys((*source.matched, *source.columns)):
        if column in found:
            yield from _of_column(policy, name, source, column)


def _of_column(policy: Policy, name: str, source: Source, column: str) -> Iterator[Problem]:
    """One column read as it is declared, of no row: its type and the right to read it."""
    declared = column in policy.document.tables[name].columns
    path: KeyPath = ("tables", name, "columns", column) if declared else ("tables", name, "unit")
    alone = replace(
        source,
        columns={key: kind for key, kind in source.columns.items() if key == column},
        unit=source.unit if source.unit == column else None,
        keys={key: matched for key, matched in source.keys.items() if key == column},
    )
    try:
        engine = engine_for({name: alone})
        mark = "`" if engine.dialect == "spark" else '"'
        try:
            engine.execute(f"SELECT * FROM {mark}{name.replace(mark, 2 * mark)}{mark} WHERE 1 = 0")
        finally:
            _closed(engine)
    except BadInput as error:
        yield Problem((*path, "type") if declared else path, f"table {name}: {error.message}", error.hint, "SF019")
    except EngineFailed:
        said = f"column {column} of {name} may not be read by us"
        yield Problem(path, said, f"let the database's owner GRANT SELECT ({column}) on the table", "SF019", "key")


def _together(sources: dict[str, Source]) -> Iterator[Problem]:
    """What only shows when all tables are opened at once, as a question opens them."""
    try:
        _closed(engine_for(sources))
    except BadInput as error:
        yield Problem(("tables",), error.message, error.hint, error.code)


def _bare(source: Source, **changes: str) -> Source:
    return replace(source, columns={}, unit=None, keys={}, **changes)  # type: ignore[arg-type]


def _closed(engine: Engine) -> None:
    close = getattr(engine, "close", None)  # a session of Spark belongs to whoever made it
    if close is not None:
        close()


def _unreachable(name: str, hint: str) -> EngineFailed:
    return EngineFailed(f"the source of {name} cannot be reached from here", hint=hint)
