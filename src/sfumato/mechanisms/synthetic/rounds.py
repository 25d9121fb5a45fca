"""Select, measure, generate: rounds that each spend a share of one promise, chosen after what earlier ones said."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar, Self, final

import numpy as np

from sfumato.accounting import Loss
from sfumato.core.errors import BadInput, Bug
from sfumato.core.exact import Number, positive, sqrt_up
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case, Mechanism
from sfumato.mechanisms.choice.scores import LIMIT
from sfumato.mechanisms.parameter import Positive
from sfumato.mechanisms.synthetic.fit import Fit
from sfumato.mechanisms.synthetic.junction import Columns
from sfumato.mechanisms.synthetic.measured import Measured
from sfumato.mechanisms.synthetic.model import Floats
from sfumato.mechanisms.synthetic.purse import Noise, Purse
from sfumato.mechanisms.synthetic.synthesis import Synthesis
from sfumato.mechanisms.synthetic.table import LARGEST_COUNT, Integers, Table
from sfumato.noise import Source, categorical

FINE = 64
"""Distances are summed exactly, in steps of 1/64 of a count."""

_MOST_CELLS = 1 << 25
"""What the tables of all pairs may have in all: each is looked at in every round."""
_QUIET = 0.01
"""Noise is taken to be at least this loud by whoever fits a model to it."""


@final
@dataclass(frozen=True)
class Measure:
    """Release the marginal over these columns with the noise that a share buys."""

    columns: Columns
    share: Fraction


@final
@dataclass(frozen=True, eq=False)
class Choose:
    """Release which of these marginals is furthest from what is expected, by the exponential mechanism.

    The score of a marginal r is w_r (|c_r - e_r|_1 - n_r), w_r 1 for two columns and 1/2 for one: e_r and n_r are public, and
    c_r moves by at most l1 in l1, so no score moves by more than l1.
    """

    candidates: tuple[Columns, ...]
    expected: tuple[Floats, ...]
    noise: tuple[float, ...]
    share: Fraction

    def scores(self, table: Table) -> Integers:
        """In steps of 1/128 of a count, whole numbers from whole numbers: a score moves by at most 128 l1 steps, exactly."""
        return np.array(
            [
                len(columns) * (distance(table.marginal(columns), expected) - round(min(noise, 2.0**53) * FINE))
                for columns, expected, noise in zip(self.candidates, self.expected, self.noise, strict=True)
            ],
            dtype=np.int64,
        ).clip(-LIMIT, LIMIT)


SCORE_STEPS = 2 * FINE
"""How many steps a score moves when the table moves by one."""


def distance(counts: Integers, expected: Floats) -> int:
    """The sum over cells of |count - expected|, in steps of 1/64 to which what is expected is rounded; clamped to 2^60."""
    nearest = np.rint(np.clip(expected, 0, LARGEST_COUNT) * FINE).astype(np.int64)
    apart = np.abs(counts * FINE - nearest)
    whole = (int((apart >> 32).sum()) << 32) + int((apart & 0xFFFFFFFF).sum())
    return min(whole, 1 << 60)


@final
@dataclass(frozen=True, eq=False)
class Said:
    """Everything that was released so far, and what follows from it: the state of the rounds."""

    left: Fraction = Fraction(1)
    share: Fraction = Fraction(0)
    measured: tuple[Measured, ...] = ()
    chosen: tuple[Columns, ...] = ()
    fit: Fit | None = None

    def after(self, spent: Fraction, **changes: Any) -> Said:
        """One release later. Shares beyond the whole are a bug that must not reach a person."""
        if spent > self.left:
            raise Bug("a mechanism was about to spend more than its promise", hint="its shares add up to more than 1")
        return replace(self, left=self.left - spent, **changes)


Step = Measure | Choose


class Rounds(Mechanism[Table, Synthesis]):
    """`step` says what to release next, from what was released; `heard` takes the outcome in. Neither sees the table.

    That is what adaptive composition asks for: each release is a mechanism chosen by those before it, and shares add up to one
    at most (`Said.after` would stop at more).
    """

    noise_field: ClassVar[str] = "scale"
    choices: ClassVar[Fraction]
    """The largest part of the whole that is spent on choices."""

    shape: tuple[int, ...]
    scale: Positive = Positive()
    noise: Noise
    one_cell: bool

    @property
    @abstractmethod
    def singles(self) -> tuple[Fraction, ...]:
        """The shares that the single columns get before anything is chosen."""

    @abstractmethod
    def begin(self) -> Said:
        """Before the first release."""

    @abstractmethod
    def step(self, said: Said) -> Step | None:
        """What to release next; None when nothing is left."""

    @abstractmethod
    def heard(self, said: Said, step: Step, outcome: Any) -> Said:
        """The state after an outcome: a `Measured`, or the columns that were chosen."""

    @final
    def check(self) -> None:
        """The public parameters all kinds of rounds have."""
        object.__setattr__(self, "shape", tuple(self.shape))
        if not self.shape or len(self.shape) > 40:
            raise BadInput("there is no column, or more than 40", hint="give each column's number of codes")
        for bins in self.shape:
            if isinstance(bins, bool) or not isinstance(bins, int) or bins < 1:
                raise BadInput("a column has fewer than one code", hint="give each column's number of codes")
        if max(*self.shape, sum(self.shape[i] * self.shape[j] for i, j in self.pairs)) > _MOST_CELLS:
            raise BadInput(
                "all tables of two columns have more than 2^25 cells together",
                hint="put wide columns into fewer, public bins",
            )
        _ = self.purse

    @final
    @property
    def purse(self) -> Purse:
        return Purse(self.noise, self.scale)

    @final
    @property
    def pairs(self) -> tuple[Columns, ...]:
        return tuple(combinations(range(len(self.shape)), 2))

    @final
    def loss(self, sensitivity: Sensitivity | Number) -> Loss:
        return self.purse.loss(Sensitivity.of(sensitivity), choices=self.choices, one_cell=self.one_cell)

    @final
    def sample(self, value: Table, source: Source) -> Synthesis:
        self._fits(value)
        said = self.begin()
        while (step := self.step(said)) is not None:
            said = self.heard(said, step, next(self._outcomes(step, value, 1, source)))
            if value.watch:
                value.watch(float(1 - said.left))
        return Synthesis(self.shape, said.measured, said.fit)

    @final
    def repeat(self, value: Table, count: int, source: Source) -> Sequence[Synthesis]:
        """Draws that have said the same so far take their next step together."""
        self._fits(value)
        found: list[Synthesis | None] = [None] * count
        waiting = [(np.arange(count), self.begin())]
        while waiting:
            places, said = waiting.pop()
            step = self.step(said)
            if step is None:
                result = Synthesis(self.shape, said.measured, said.fit)
                for place in places.tolist():
                    found[place] = result
                continue
            alike: dict[str, tuple[Any, list[int]]] = {}
            for place, outcome in zip(places.tolist(), self._outcomes(step, value, len(places), source), strict=True):
                alike.setdefault(repr(outcome), (outcome, []))[1].append(place)
            waiting += [(np.array(group), self.heard(said, step, outcome)) for outcome, group in alike.values()]
        return [each for each in found if each is not None]

    @final
    def _outcomes(self, step: Step, table: Table, count: int, source: Source) -> Iterator[Measured | Columns]:
        """Independent outcomes of one step."""
        match step:
            case Measure(columns, share):
                law = self.purse.law(share)
                exact = table.marginal(columns)
                deviation = max(law.mean_square**0.5, _QUIET)
                for noise in law.sample(source, (count, *exact.shape)):
                    yield Measured(columns, exact + noise, share, deviation)
            case Choose():
                rate = self.purse.rate(step.share) / SCORE_STEPS
                for place in categorical(step.scores(table), rate=rate, size=count, source=source).tolist():
                    yield step.candidates[place]

    @final
    def _fits(self, table: Table) -> None:
        if table.shape != self.shape:
            raise BadInput("the table's columns are not those of the mechanism", hint="build both from one domain")

    @final
    def within(self, confidence: Number) -> float:
        """Half-width of the noise on a cell of the single column with most of it; what a model gets wrong is not in it."""
        return float(self.purse.law(min(self.singles)).within(confidence))

    @final
    def audit_cases(self) -> Sequence[Case[Table]]:
        """One unit more, in the first cell."""
        none = np.zeros((0, len(self.shape)), dtype=np.int64)
        one = np.zeros((1, len(self.shape)), dtype=np.int64)
        return (Case(Table.of(self.shape, none), Table.of(self.shape, one), Sensitivity.of(1), tight=False),)

    @classmethod
    def of_rho(cls, rho: Number, *, sensitivity: Sensitivity | Number = 1, **public: Any) -> Self:
        """The instance with Gaussian noise whose rho is the given one, a hair less for the square root."""
        fields: dict[str, Any] = {**public, "noise": "gaussian"}
        line = cls(**fields, **{cls.noise_field: 1}).loss(sensitivity).zcdp()
        if line is None or line[0] == 0:
            raise BadInput("nothing to protect: the sensitivity is 0", hint="a public value needs no mechanism")
        return cls(**fields, **{cls.noise_field: sqrt_up(line[0] / positive(rho, name="rho"))})
