"""A data set behind its policy: the one door that the command line, servers and Python all go through."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from sfumato.accounting import Filter
from sfumato.core.errors import BadPolicy
from sfumato.core.exact import Number
from sfumato.core.private import Private
from sfumato.curator.home import Home
from sfumato.curator.ingest import Copies
from sfumato.curator.policy import Policy
from sfumato.curator.seen_files import check
from sfumato.curator.session import Session
from sfumato.curator.terms import Terms, budget_of, terms_of

if TYPE_CHECKING:
    from sfumato.curator.ledger.ledger import Ledger
    from sfumato.curator.release.publication import Publication
    from sfumato.engines.base import Engine
    from sfumato.queries.bounded import Bounded
    from sfumato.queries.ingested import Ingested
    from sfumato.queries.schema import Schema


@final
class Dataset:
    """Policy, ledger and engine together. The engine is opened by the first question that needs it."""

    def __init__(
        self, policy: Policy, *, ledger: Ledger, copies: Copies, data: Mapping[str, Any] | None = None
    ) -> None:
        self.policy, self.ledger, self._copies = policy, ledger, copies
        self._data = dict(data or {})
        self._opening = threading.Lock()
        self._engine: Engine | None = None
        self._ingested: dict[str, Ingested] = {}
        unknown = set(self._data) - {table.name for table in self.schema.tables}
        if unknown:
            raise BadPolicy(
                f"the policy has no table called {sorted(unknown)[0]}", hint="name tables in `data` as the policy does"
            )

    @cached_property
    def schema(self) -> Schema:
        return self.policy.schema()

    @cached_property
    def budget(self) -> Filter:
        """The filter of the data set's accountant."""
        return budget_of(self.policy)

    @cached_property
    def terms(self) -> Terms:
        """What questions are priced under."""
        return terms_of(self.policy)

    @property
    def _stored(self) -> list[str]:
        """The tables that are not in memory."""
        return [each.name for each in self.schema.tables if each.name not in self._data]

    @property
    def home(self) -> Home:
        """Where the keys are that the ledger and releases are signed with."""
        return self._copies.home

    @property
    def engine(self) -> Engine:
        with self._opening:
            if self._engine is None:
                from sfumato.curator.opening import engine_for

                check(self.policy, self.home, self._stored)
                sources, self._ingested = self._copies.sources(self.policy.sources(self._data))
                self._engine = engine_for({**sources, **self.policy.lookups()})
            return self._engine

    def ready(self, tables: Iterable[str]) -> None:
        """Open the sources, or look at them again: what would keep a question from its answer is said before it is charged."""
        self.refuse_without_rows(tables)
        check(self.policy, self.home, self._stored)
        self.engine.look()

    def refuse_without_rows(self, tables: Iterable[str]) -> None:
        """BadPolicy for a table whose rows nobody gave: said before anything is charged, because the policy alone says it."""
        for name in tables:
            rules = self.policy.document.tables.get(name)
            if rules is not None and rules.source is None and name not in self._data:
                raise BadPolicy(
                    f"the policy names no source for table {name}, and its rows were not handed over; nothing was charged",
                    hint='the owner writes source = "csv:FILE" (or another) in the table, or gives sf.open data={"'
                    + name
                    + '": frame}',
                    code="SF019",
                )

    def exact(self, bounded: Bounded) -> Private[Any]:
        """The exact answer, sealed: one vector for each statistic; or private groups, by name."""
        exact = self._sealed(bounded)
        return exact.map(bounded.found) if bounded.private else exact.map(bounded.vectors)

    def present(self, bounded: Bounded) -> Private[Any]:
        """The groups that there are, sealed, for mechanisms that take a table of them (`sparse`)."""
        return self._sealed(bounded).map(bounded.present)

    def _sealed(self, bounded: Bounded) -> Private[Any]:
        engine = self.engine
        return Private(engine.execute(bounded.sql(engine.dialect, self._ingested)))

    def publish(self, *, epsilon: Number, delta: Number = 0, **terms: Any) -> Publication:
        """A batch of products on one budget, published once: `with data.publish(epsilon=1, delta="1e-6") as p: ...`

        Nothing is read or charged until the block ends, or its certificate is asked for; then everything is, or nothing.
        """
        from sfumato.curator.release.publication import Publication

        return Publication(self, epsilon=epsilon, delta=delta, **terms)

    def session(self, analyst: str = "owner") -> Session:
        """One analyst's way in. In one process the name is bookkeeping, not access control."""
        return Session(self, analyst)


def open_dataset(
    policy: str | Path | Policy, data: Mapping[str, Any] | None = None, *, home: Home | None = None
) -> Dataset:
    """The data set of a policy file, its ledger verified, its caps as the ledger was told.

    `data` gives tables that are in memory (pandas, polars, Arrow) by name. A policy that raises a cap is refused here
    until `sfumato policy accept` has written why.
    """
    read = policy if isinstance(policy, Policy) else Policy.load(policy)
    read = replace(read, folder=read.folder.absolute())  # a process may go elsewhere before its first question
    at = home or Home.default()
    ledger = read.ledger(at)
    ledger.accept(read.caps(), policy=read.digest, reason=None, version=read.version)
    return Dataset(read, ledger=ledger, copies=Copies(read, at), data=data)
