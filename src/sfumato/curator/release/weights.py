"""Importance weights as a product: a public table whose weighted averages estimate private ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

from sfumato.accounting import Loss, ZcdpFilter
from sfumato.core.canonical import digest
from sfumato.core.errors import BadInput, NotSupported
from sfumato.core.exact import decimal_text, sqrt_up
from sfumato.core.private import Private
from sfumato.curator.certificate.described import noise
from sfumato.curator.ledger.ledger import Committed
from sfumato.curator.ledger.records import Charge
from sfumato.curator.release.coded import Rowed, charge_of
from sfumato.curator.release.product import Portion, Stored
from sfumato.curator.release.table import Table
from sfumato.queries.plan import tables_of
from sfumato.queries.schema import Column

if TYPE_CHECKING:
    from sfumato.curator.session import Session
    from sfumato.mechanisms.weights.reference import Reference
    from sfumato.mechanisms.weights.weighted import Weighted
    from sfumato.mechanisms.weights.weighting import Weighting
    from sfumato.queries.frame import Frame

PublicTable = Mapping[str, Sequence[Any]]


@final
@dataclass(frozen=True)
class Weighing:
    """Weights that were asked for, on the rows of a public table."""

    name: str
    rows: Frame
    public: PublicTable
    columns: tuple[str, ...]
    share: Fraction = Fraction(1)
    most: Fraction | None = None

    def priced(self, portion: Portion) -> WeightedTable:
        from sfumato.mechanisms.weights.column import Columns
        from sfumato.mechanisms.weights.reference import Reference

        session = portion.session
        size = session.dataset.policy.document.dataset.size
        if size is None:
            raise BadInput(
                "weights need to know about how many rows there are, publicly",
                hint="the owner can declare size in the policy's [dataset]",
            )
        rowed = Rowed.of(self.rows, self.columns, complete=True)
        columns = Columns.of({column.name: _column(column) for column in rowed.columns})
        reference = Reference.of(columns, {name: _plain(self.public[name]) for name in self.columns})
        mechanism = _calibrated(portion, rowed, reference, size * rowed.bounded.whole)
        return WeightedTable(self, WeightsPart(session, rowed, mechanism), portion.epsilon)


def _column(column: Column) -> Any:
    """A policy's column as the fit sees it: a number in its range, or one of its values."""
    from sfumato.mechanisms.weights.column import Category, Numeric

    if isinstance(column.values, tuple):
        return Category(column.values)
    if column.type == "boolean":
        return Category((False, True))
    if column.type not in {"integer", "number"} or column.range is None:
        raise NotSupported(
            f"{column.name} is neither a number nor of a public list, and weights take no other",
            hint="leave it out: columns=[...]",
            code="SF021",
        )
    low, high = column.range
    assert isinstance(low, Fraction)
    assert isinstance(high, Fraction)
    return Numeric(low, high)


def _plain(values: Any) -> list[Any]:
    """A column of whatever table it is, as a list."""
    for way in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, way):
            return list(getattr(values, way)())
    return list(values)


def _calibrated(portion: Portion, rowed: Rowed, reference: Reference, size: int) -> Weighting:
    """Laplace noise for epsilon; Gaussian noise for the rho that epsilon is worth under zCDP."""
    from sfumato.mechanisms import GaussianWeights, LaplaceWeights

    budget = portion.session.dataset.budget
    pure = LaplaceWeights.calibrate(sensitivity=rowed.reach, epsilon=portion.epsilon, reference=reference, size=size)
    if not isinstance(budget, ZcdpFilter):
        return pure
    rho = ZcdpFilter(portion.epsilon, budget.delta, budget.conversion).rho_max
    public: dict[str, Any] = {"penalty": pure.penalty, "tolerance": pure.tolerance, "grain": pure.grain}
    steps = pure.steps(rowed.reach)
    sigma = sqrt_up(steps.l2_squared / (2 * rho)) * pure.step
    return GaussianWeights(reference, size, sigma=sigma, **public)


@final
@dataclass(frozen=True)
class WeightsPart:
    """The one charge of a table of weights: the tilt, in whole steps."""

    session: Session
    rowed: Rowed
    mechanism: Weighting

    @cached_property
    def key(self) -> str:
        return digest(
            {
                "weights": self.rowed.bounded.key,
                "version": self.session.dataset.policy.version,
                "mechanism": self.mechanism.describe(),
            }
        )

    @property
    def reads(self) -> tuple[str, ...]:
        return tables_of(self.rowed.bounded.tally)

    @property
    def losses(self) -> tuple[Loss, ...]:
        return (self.mechanism.loss(self.rowed.reach),)

    @cached_property
    def charge(self) -> Charge:
        return charge_of(self.session, self.losses)

    def what(self) -> dict[str, Any]:
        return self.rowed.what(self.session, self.mechanism, self.losses)

    def compute(self) -> Stored:
        return {"tilt": [int(step) for step in self.mechanism.release(self._exact(), self.rowed.reach).value]}

    def scan(self) -> None:
        """For the owner, who sees the rows anyway: is the public table the private one, or does it lie apart from it?"""
        whole = self.rowed.bounded.whole

        def compared(rows: Any) -> None:
            self.mechanism.reference.refuse_copy(replace(rows, weights=rows.weights // whole))
            self.mechanism.reference.refuse_apart(rows)

        self._exact().map(compared)

    def _exact(self) -> Private[Any]:
        """The private rows in codes, with their weights, sealed."""
        from sfumato.mechanisms.weights.rows import Rows

        columns, order = self.mechanism.reference.columns, self.rowed.order

        def coded(groups: Any) -> Rows:
            values, weights = groups
            return Rows.of(columns.code(dict(zip(order, values, strict=True))), weights)

        return self.session.dataset.present(self.rowed.bounded).map(coded)


@final
@dataclass(frozen=True)
class WeightedTable:
    """A priced table of weights: the public rows with their weights, and averages that follow from them."""

    wanted: Weighing
    part: WeightsPart
    epsilon: Fraction

    @property
    def name(self) -> str:
        return self.wanted.name

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, f"{self.name}-averages")

    @property
    def parts(self) -> tuple[WeightsPart, ...]:
        return (self.part,)

    def foreseen(self) -> dict[str, Any]:
        tilt = self.part.mechanism.within(self._confidence)
        return {"name": self.name, "epsilon": decimal_text(self.epsilon), "within": {"tilt": tilt}}

    @property
    def _confidence(self) -> Fraction:
        return self.part.session.dataset.terms.confidence

    def _weighted(self, found: Sequence[Committed]) -> Weighted:
        from sfumato.mechanisms.weights.weighted import Weighted

        return Weighted.of(self.part.mechanism, found[0].answer["tilt"], most=self.wanted.most)

    def tables(self, found: Sequence[Committed]) -> tuple[Table, ...]:
        """Without enough effective rows the tables are empty: a few rows would carry every estimate."""
        weighted = self._weighted(found)
        public = {name: _plain(values) for name, values in self.wanted.public.items()}
        try:
            weights = weighted.weights.tolist()
        except NotSupported:
            weights = []
        rows = tuple(
            {name: values[place] for name, values in public.items()} | {"weight": float(weight)}
            for place, weight in enumerate(weights)
        )
        listed = Table(self.name, (*public, "weight"), (), rows, "nothing")
        return listed, Table(
            f"{self.name}-averages",
            ("average_of", "public", "average"),
            ("average",),
            tuple(self._averages(weighted, public)) if weights else (),
            "points" if weights else "nothing",
            notes=frozenset({"public"}),
        )

    def _averages(self, weighted: Weighted, public: Mapping[str, list[Any]]) -> Any:
        """Numbers as a part of their range, and the share of each value: what a tilt of these columns aims at."""
        from sfumato.mechanisms.weights.column import Category

        columns = self.part.mechanism.reference.columns
        for name, column in zip(columns.names, columns.columns, strict=True):
            coordinates = column.coordinates(column.code(public[name]))
            labels = [f"{name} = {value}" for value in column.values] if isinstance(column, Category) else [name]
            for place, label in enumerate(labels):
                estimate = weighted.estimate(coordinates[:, place])
                bar = estimate.within(self._confidence)
                yield {
                    "average_of": label,
                    "public": float(coordinates[:, place].mean()),
                    "average": estimate.value,
                    "average_low": estimate.value - bar,
                    "average_high": estimate.value + bar,
                    "average_unbiased": estimate.value,
                    "average_scale": estimate.noise,
                }

    def described(self, found: Sequence[Committed]) -> dict[str, Any]:
        weighted, mechanism = self._weighted(found), self.part.mechanism
        enough = "" if weighted.effective >= _LEAST else ", fewer than 30: no weights are published"
        return {
            "name": self.name,
            "kind": "weights",
            "epsilon": decimal_text(self.epsilon),
            "noise": [noise(mechanism, self.part.rowed.reach, self.part.losses[0])],
            "public_table": str(mechanism.reference),
            "effective_rows": f"{weighted.effective:.1f}{enough}",
            "cut_at": "" if self.wanted.most is None else decimal_text(self.wanted.most),
            "bars": "of averages: the noise, the public table as a sample, and the penalty's pull, to first order; not what "
            "weights of these columns cannot express",
        }


_LEAST = 30
