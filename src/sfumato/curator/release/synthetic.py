"""A synthetic table as a product: rows that nobody has, close to the private ones in every pair of columns."""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

from sfumato.accounting import Approximate, Loss, ZcdpFilter
from sfumato.core.canonical import canonical, digest
from sfumato.core.errors import NotSupported
from sfumato.core.exact import Number, decimal_text, fraction
from sfumato.curator.certificate.described import noise
from sfumato.curator.ledger.ledger import Committed
from sfumato.curator.ledger.records import Charge
from sfumato.curator.release.coded import Rowed, charge_of
from sfumato.curator.release.product import Portion, Stored
from sfumato.curator.release.table import Table
from sfumato.queries.plan import tables_of
from sfumato.queries.schema import Column as Declared

if TYPE_CHECKING:
    from sfumato.curator.session import Session
    from sfumato.mechanisms.synthetic import Aim, Column, Domain, Mst
    from sfumato.queries.frame import Frame

_LISTED = 32
"""A range of at most so many numbers is taken value by value."""
_BINS = 16
"""Otherwise it is cut into so many public bins, unless edges are given."""


@final
@dataclass(frozen=True)
class Synthesising:
    """A synthetic table that was asked for."""

    name: str
    rows: Frame
    columns: tuple[str, ...]
    share: Fraction = Fraction(1)
    method: str = "aim"
    edges: Mapping[str, Sequence[Number]] | None = None

    def priced(self, portion: Portion) -> SyntheticTable:
        from sfumato.mechanisms.synthetic import Domain

        rowed = Rowed.of(self.rows, self.columns, complete=False)
        edges = self.edges or {}
        domain = Domain(tuple(_column(column, edges.get(column.name)) for column in rowed.columns))
        mechanism = _calibrated(self.method, portion, rowed, domain)
        part = SyntheticPart(portion.session, rowed, domain, mechanism, portion.epsilon, portion.delta)
        return SyntheticTable(self, part)


def _column(column: Declared, edges: Sequence[Number] | None) -> Column:
    """A policy's column as a model sees it: its values, or public bins of its range."""
    from sfumato.mechanisms.synthetic import Column

    missing = column.null == "group"
    whole = column.type == "integer"
    if column.type == "boolean":
        return Column.of(column.name, (False, True), missing=missing)
    if isinstance(column.values, tuple) and edges is None:
        return Column.of(column.name, column.values, missing=missing)
    if column.range is None or not isinstance(column.range[0], Fraction) or not isinstance(column.range[1], Fraction):
        raise NotSupported(
            f"{column.name} is neither a number nor of a public list, and a synthetic table takes no other",
            hint="leave it out: columns=[...]",
            code="SF021",
        )
    low, high = column.range
    if edges is not None:
        return Column.binned(column.name, edges, whole=whole, missing=missing)
    if whole and high - low < _LISTED:
        return Column.of(column.name, tuple(range(int(low), int(high) + 1)), missing=missing)
    end = high + 1 if whole else high
    step = Fraction(math.ceil((end - low) / _BINS)) if whole else (end - low) / _BINS
    cuts = [low + step * place for place in range(_BINS) if low + step * place < end]
    return Column.binned(column.name, [*cuts, end], whole=whole, missing=missing)


def _calibrated(method: str, portion: Portion, rowed: Rowed, domain: Domain) -> Aim | Mst:
    """Gaussian noise for the rho of a zCDP budget, or for epsilon and its part of delta; Laplace noise without a delta."""
    from sfumato.mechanisms.synthetic import mechanism_of

    kind, budget = mechanism_of(method), portion.session.dataset.budget
    public: dict[str, Any] = {"shape": domain.shape, "one_cell": True}
    if isinstance(budget, ZcdpFilter):
        rho = ZcdpFilter(portion.epsilon, budget.delta, budget.conversion).rho_max
        return kind.of_rho(rho, sensitivity=rowed.reach, **public)
    if portion.delta:
        return kind.calibrate(sensitivity=rowed.reach, epsilon=portion.epsilon, delta=portion.delta, **public)
    return kind.calibrate(sensitivity=rowed.reach, epsilon=portion.epsilon, noise="laplace", **public)


@final
@dataclass(frozen=True)
class SyntheticPart:
    """The one charge of a synthetic table: every marginal that was measured, and the rows that were drawn from them."""

    session: Session
    rowed: Rowed
    domain: Domain
    mechanism: Aim | Mst
    epsilon: Fraction
    delta: Fraction

    @cached_property
    def key(self) -> str:
        return digest(
            {
                "synthetic": self.rowed.bounded.key,
                "version": self.session.dataset.policy.version,
                "mechanism": self.mechanism.describe(),
                "domain": repr(self.domain),
            }
        )

    @property
    def reads(self) -> tuple[str, ...]:
        return tables_of(self.rowed.bounded.tally)

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """A pure budget holds no rho: there it is the (epsilon, delta) that the noise was calibrated for."""
        loss = self.mechanism.loss(self.rowed.reach)
        if isinstance(self.session.dataset.budget, ZcdpFilter) or loss.pure() is not None:
            return (loss,)
        return (Approximate(self.epsilon, self.delta, loss.about),)

    @cached_property
    def charge(self) -> Charge:
        return charge_of(self.session, self.losses)

    def what(self) -> dict[str, Any]:
        return self.rowed.what(self.session, self.mechanism, self.losses)

    def compute(self) -> Stored:
        """Marginals are measured once; rows are drawn once, and kept, so that every run hands out the same."""
        domain, order = self.domain, self.rowed.order
        exact = self.session.dataset.present(self.rowed.bounded).map(
            lambda groups: domain.table(dict(zip(order, groups[0], strict=True)), groups[1])
        )
        synthesis = self.mechanism.release(exact, self.rowed.reach).value
        count = max(1, round(synthesis.total / self.rowed.bounded.whole))
        drawn = domain.decode(synthesis.rows(count))
        kept = {
            "measured": [
                [list(each.columns), each.counts.ravel().tolist(), str(each.share)] for each in synthesis.measured
            ],
            "rows": {column.name: _written(column, drawn[column.name]) for column in self.rowed.columns},
        }
        return {"synthetic": base64.b85encode(zlib.compress(canonical(kept).encode())).decode()}


def _written(column: Declared, values: Sequence[Any]) -> list[Any]:
    """Numbers on the column's own grid, as text: the ledger holds no floats."""
    if column.type != "number" or column.grain is None:
        return list(values)
    return [None if each is None else str(fraction(each, name=column.name) // column.grain) for each in values]


@final
@dataclass(frozen=True)
class SyntheticTable:
    """A priced synthetic table; beside it the single columns as they were measured, with their bars."""

    wanted: Synthesising
    part: SyntheticPart

    @property
    def name(self) -> str:
        return self.wanted.name

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, f"{self.name}-columns")

    @property
    def parts(self) -> tuple[SyntheticPart, ...]:
        return (self.part,)

    @property
    def _confidence(self) -> Fraction:
        return self.part.session.dataset.terms.confidence

    def foreseen(self) -> dict[str, Any]:
        width = self.part.mechanism.within(self._confidence) / self.part.rowed.bounded.whole
        return {"name": self.name, "epsilon": decimal_text(self.part.epsilon), "within": {"least precise cell": width}}

    def tables(self, found: Sequence[Committed]) -> tuple[Table, ...]:
        kept = _opened(found[0])
        columns = self.part.rowed.columns
        values = [_read(column, kept["rows"][column.name]) for column in columns]
        names = tuple(column.name for column in columns)
        rows = tuple(dict(zip(names, row, strict=True)) for row in zip(*values, strict=True))
        singles = tuple(self._singles(kept["measured"]))
        measured = Table(f"{self.name}-columns", ("value", "count"), ("count",), singles, "bars", frozenset({"count"}))
        return Table(self.name, names, (), rows, "nothing"), measured

    def _singles(self, measured: Sequence[Any]) -> Iterator[dict[str, Any]]:
        """The first time that each column was measured by itself."""
        whole, seen = self.part.rowed.bounded.whole, set()
        for columns, counts, share in measured:
            if len(columns) > 1 or columns[0] in seen:
                continue
            seen.add(columns[0])
            column = self.part.domain.columns[columns[0]]
            law = self.part.mechanism.purse.law(Fraction(share))
            bar = float(law.within(self._confidence)) / whole
            part, own = Fraction(share), self.part.mechanism
            spread = float(own.scale) / (float(part) if own.noise == "laplace" else math.sqrt(part)) / whole
            for label, count in zip(_labels(column), counts, strict=True):
                rows = count / whole
                yield {
                    "value": f"{column.name} = {label}",
                    "count": max(0, round(rows)),
                    "count_low": rows - bar,
                    "count_high": rows + bar,
                    "count_unbiased": rows,
                    "count_scale": spread,
                }

    def described(self, found: Sequence[Committed]) -> dict[str, Any]:
        kept = _opened(found[0])
        part, columns = self.part, self.part.domain.columns
        pairs = [" × ".join(columns[place].name for place in each[0]) for each in kept["measured"]]
        return {
            "name": self.name,
            "kind": "synthetic",
            "epsilon": decimal_text(part.epsilon),
            "noise": [noise(part.mechanism, part.rowed.reach, part.losses[0])],
            "columns": ", ".join(f"{column.name} ({column.size} codes)" for column in columns),
            "measured": ", ".join(dict.fromkeys(pairs)),
            "method": self.wanted.method,
            "says": "its rows belong to nobody; what is true of three columns together and does not follow from pairs is lost; "
            "tests of significance on it are not valid",
        }


def _labels(column: Column) -> list[str]:
    bins = column.bins
    names = [f"{each.low:g} to {each.high:g}" for each in bins] if bins else [str(each) for each in column.values]
    return [*names, "(missing)"] if column.missing else names


def _opened(found: Committed) -> dict[str, Any]:
    kept: dict[str, Any] = json.loads(zlib.decompress(base64.b85decode(found.answer["synthetic"])))
    return kept


def _read(column: Declared, values: Sequence[Any]) -> list[Any]:
    if column.type != "number" or column.grain is None:
        return list(values)
    grain = column.grain
    return [None if each is None else float(int(each) * grain) for each in values]
