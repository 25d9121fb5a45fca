"""Which mechanism when several are possible: all that keep the promise, by the error that they make."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, assert_never, final

from sfumato.core.errors import BadInput, SfumatoError
from sfumato.core.exact import Number, decimal_text, positive, probability
from sfumato.core.neighbours import Neighbours, Relation
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Mechanism


@final
@dataclass(frozen=True, slots=True)
class Scalar:
    """One number."""


@final
@dataclass(frozen=True, slots=True)
class Queries:
    """`count` numbers, each moved by one unit: what counts is the largest of their errors."""

    count: int


@final
@dataclass(frozen=True, slots=True)
class Choice:
    """`chosen` of several public candidates. `monotone` scores, such as counts, can only rise when a unit comes."""

    candidates: int
    chosen: int = 1
    monotone: bool = False


@final
@dataclass(frozen=True, slots=True)
class Stream:
    """`length` numbers, one after the other, each to be told above or below a threshold; up to `positives` are above."""

    length: int
    positives: int = 1


@final
@dataclass(frozen=True, slots=True)
class Running:
    """After each of `length` numbers the sum so far; a unit moves one number. What counts is the error of any one sum."""

    length: int


Question = Scalar | Queries | Choice | Stream | Running


@final
@dataclass(frozen=True, slots=True)
class Option:
    """A mechanism that keeps the promise; with the confidence asked for, no error exceeds `within`."""

    mechanism: Mechanism[Any, Any]
    within: float

    @property
    def name(self) -> str:
        return type(self.mechanism).__name__

    @property
    def limit(self) -> float | None:
        """What no error ever exceeds, where there is such a limit."""
        limit: float | None = getattr(self.mechanism, "limit", None)
        return limit

    @property
    def parameters(self) -> str:
        """The public parameters, short enough to read."""
        shown = []
        for name, value in self.mechanism.describe().items():
            if name == "mechanism" or value in {"None", "False"}:
                continue
            try:
                shown.append(f"{name} {decimal_text(Fraction(value))}")
            except ValueError:
                shown.append(f"{name} {value}")
        return ", ".join(shown)


@final
@dataclass(frozen=True, slots=True)
class Advice:
    """The options, the least error first, and why others are none."""

    question: Question
    confidence: Fraction
    options: tuple[Option, ...]
    refused: tuple[tuple[str, str], ...]

    @property
    def best(self) -> Option:
        return self.options[0]

    @property
    def why(self) -> str:
        """Why the best is best, with the runner-up's figure."""
        said = f"{self.best.name}: {_REASONS.get(self.best.name, 'it has the least error')}"
        if self.best.limit is not None:
            said += f", and none is ever above {self.best.limit:.6g}"
        if len(self.options) == 1:
            return f"{said}; nothing else keeps this promise"
        second = self.options[1]
        if second.within <= self.best.within:
            return f"{said}; {second.name} errs no more at this confidence"
        return f"{said}; {second.name} is the next, with {_times(second.within, self.best.within)} the error"

    def __str__(self) -> str:
        sure = f"{float(self.confidence):.6g}"
        lines = [f"{_words(self.question)}; errors at confidence {sure}"]
        for option in self.options:
            never = "" if option.limit is None else f" (never above {option.limit:.6g})"
            lines.append(f"  {option.name:18} within {option.within:.6g}{never}   {option.parameters}")
        lines += [f"  {name:18} {reason}" for name, reason in self.refused]
        return "\n".join([*lines, self.why])


_FINE, _COARSE = 10, 3
"""Grids are this many halvings finer than a move; coarser for bounded noise, whose law is computed step by step."""

_REASONS = {
    "Laplace": "it spends no delta, and its noise is the lightest where few numbers move",
    "TruncatedLaplace": "for one number it is Laplace noise with its tails cut off for the delta",
    "Staircase": "for one number and no delta, its steps are the least noise there is",
    "Gaussian": "its noise grows with the square root of how many numbers move, Laplace noise with their number",
    "BoundedNoise": "the largest of many Gaussian errors grows with their number, its errors do not",
    "Exponential": "its bounded range is charged an eighth under zCDP",
    "PermuteAndFlip": "it never loses more than the exponential mechanism at the same epsilon",
    "NoisyMax": "one-sided exponential noise is the race that permute-and-flip runs",
    "TopK": "one shot, whose rounds have a bounded range",
    "AboveThreshold": "what is below costs nothing, however many questions there are",
    "RunningCount": "a unit is in few blocks of a tree, and each sum adds up few of them",
    "FactoredCount": "its noise is correlated so that it cancels in sums",
    "SparseVector": "only what is above is paid for, however many questions there are",
}


def which(
    question: Question,
    *,
    epsilon: Number,
    delta: Number = 0,
    sensitivity: Number = 1,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    confidence: Number = "0.95",
) -> Advice:
    """Every mechanism that answers the question at (epsilon, delta), the least error first.

    One unit moves each number, or each score, by at most `sensitivity`.
    """
    promise = {"epsilon": positive(epsilon, name="epsilon"), "delta": probability(delta, name="delta")}
    sure = probability(confidence, name="confidence")
    each = positive(sensitivity, name="sensitivity")
    options, refused = [], []
    for name, option in _candidates(question, promise, each, neighbours, sure):
        try:
            options.append(option())
        except SfumatoError as error:
            refused.append((name, error.message))
    if not options:
        raise BadInput("no mechanism answers this", hint="allow a delta above 0, or ask for less")
    options.sort(key=lambda option: (option.within, option.limit is None))
    return Advice(question, sure, tuple(options), tuple(refused))


Promise = dict[str, Any]
Offers = Iterator[tuple[str, Callable[[], Option]]]


def _candidates(question: Question, promise: Promise, each: Fraction, about: Neighbours, sure: Fraction) -> Offers:
    match question:
        case Scalar():
            return _numbers(1, promise, each, about, sure)
        case Queries():
            count = _whole(question.count, "queries")
            return _numbers(count, promise, each, about, _root(sure, count))
        case Choice():
            return _choices(question, promise, each, about, sure)
        case Stream():
            return _streams(question, promise, each, about, sure)
        case Running():
            return _sums(_whole(question.length, "numbers"), promise, each, about, sure)
        case _:
            assert_never(question)


def _numbers(count: int, promise: Promise, each: Fraction, about: Neighbours, sure: Fraction) -> Offers:
    """Noise on each of `count` numbers, whose own error stays within what is said with confidence `sure`."""
    moved = Sensitivity.of_cells(count, each, about=about)
    for kind in _known("Laplace", "TruncatedLaplace", "Staircase", "Gaussian", "BoundedNoise"):
        own: dict[str, Any] = {"sensitivity": moved, **_lattice(each)}
        if kind.__name__ == "BoundedNoise":
            own = {"sensitivity": Sensitivity.of(each, about=about), "queries": count, **_lattice(each, fine=_COARSE)}
        yield kind.__name__, lambda kind=kind, own=own: _offer(kind.calibrate(**own, **promise), sure)  # type: ignore[misc]


def _choices(question: Choice, promise: Promise, each: Fraction, about: Neighbours, sure: Fraction) -> Offers:
    candidates, chosen = _whole(question.candidates, "candidates"), _whole(question.chosen, "chosen candidates")
    monotone = question.monotone and about.relation is Relation.ADD_REMOVE
    public: dict[str, Any] = {"candidates": candidates, "monotone": monotone, **_lattice(each)}
    names = ("PermuteAndFlip", "NoisyMax", "Exponential") if chosen == 1 else ("TopK",)
    if chosen > 1:
        public["k"] = chosen
    moved = Sensitivity.of(each, about=about)
    for kind in _known(*names):
        yield kind.__name__, lambda kind=kind: _offer(kind.calibrate(sensitivity=moved, **promise, **public), sure)  # type: ignore[misc]


def _streams(question: Stream, promise: Promise, each: Fraction, about: Neighbours, sure: Fraction) -> Offers:
    """A reply is right for any number further than `within` from the threshold; noise on every number answers too."""
    length, positives = _whole(question.length, "numbers"), _whole(question.positives, "positives")
    own: dict[str, Any] = _lattice(each) | ({} if positives == 1 else {"positives": positives})
    moved = Sensitivity.of(each, about=about)
    for kind in _known("AboveThreshold" if positives == 1 else "SparseVector"):

        def play(kind: type[Mechanism[Any, Any]] = kind) -> Option:
            found = kind.calibrate(threshold=0, sensitivity=moved, **promise, **own)
            return Option(found, found.within(sure, queries=length))  # type: ignore[call-arg]

        yield kind.__name__, play
    yield from _numbers(length, promise, each, about, _root(sure, length))


def _sums(length: int, promise: Promise, each: Fraction, about: Neighbours, sure: Fraction) -> Offers:
    """A unit moves one number, hence up to all of the sums, by the same amount: noise on every sum is the other way."""
    own: dict[str, Any] = {"horizon": length, "sensitivity": Sensitivity.of(each, about=about)}
    for kind in _known("RunningCount", "FactoredCount"):
        grain = _lattice(each) if kind.__name__ == "RunningCount" else {}
        yield kind.__name__, lambda kind=kind, grain=grain: _offer(kind.calibrate(**own, **grain, **promise), sure)  # type: ignore[misc]
    yield from _numbers(length, promise, each, about, sure)


def _lattice(each: Fraction, *, fine: int = _FINE) -> dict[str, Any]:
    """Numbers that move by whole steps are whole; others lie on a grid at least 2**fine times finer than a move."""
    if each.denominator == 1:
        return {}
    return {"grain": Fraction(2) ** (each.numerator.bit_length() - each.denominator.bit_length() - 1 - fine)}


def _known(*names: str) -> list[type[Mechanism[Any, Any]]]:
    from sfumato.mechanisms import ALL

    kinds = {kind.__name__: kind for kind in ALL}
    return [kinds[name] for name in names if name in kinds]


def _offer(mechanism: Mechanism[Any, Any], sure: Fraction) -> Option:
    return Option(mechanism, mechanism.within(sure))


def _root(sure: Fraction, count: int) -> Fraction:
    """The largest of `count` independent errors stays within t when each does, with the count-th root of the confidence."""
    if count == 1:
        return sure
    # 1 - miss with (1 - miss)^count >= sure; a little less miss than the float says.
    miss = Fraction(-math.expm1(math.log(sure) / count)) if sure else Fraction(1)
    return max(Fraction(0), 1 - miss * (1 - Fraction(1, 10**12)))


def _whole(count: int, name: str) -> int:
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise BadInput(f"the number of {name} is not 1 or more", hint="give a whole number, such as 10")
    return count


def _words(question: Question) -> str:
    match question:
        case Scalar():
            return "one number"
        case Queries():
            return f"the largest of {question.count} errors"
        case Choice():
            return f"{question.chosen} of {question.candidates} candidates"
        case Stream():
            return f"{question.length} numbers against a threshold, up to {question.positives} above"
        case Running():
            return f"the sum so far after each of {question.length} numbers"
        case _:
            assert_never(question)


def _times(more: float, less: float) -> str:
    return f"{more / less:.3g} times" if less > 0 else "more than"
