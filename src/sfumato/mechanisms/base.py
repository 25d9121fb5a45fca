"""What every mechanism is: noise with public parameters that states its loss and can sample, in one object."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Generic, Self, TypeVar, final

from sfumato.accounting import Loss, calibrate
from sfumato.core.errors import BadInput, NotAllowed
from sfumato.core.exact import Number, positive, probability
from sfumato.core.private import Private, unseal
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.law import Law
from sfumato.noise import Source, system_source

In = TypeVar("In")
Out = TypeVar("Out")


@final
@dataclass(frozen=True, slots=True)
class Case(Generic[In]):
    """Two neighbouring inputs that verification and audit compare. `tight`: here the stated loss is reached exactly."""

    left: In
    right: In
    sensitivity: Sensitivity
    tight: bool = True


@final
@dataclass(frozen=True, slots=True)
class Release(Generic[Out]):
    """One mechanism's output, what it cost, and how far it may be from the truth."""

    value: Out
    loss: Loss
    mechanism: Mechanism[Any, Out]

    def within(self, confidence: Number) -> float:
        """The half-width of the error of one cell at this confidence; the noise only."""
        return self.mechanism.within(confidence)


def opened_into(
    play: Generator[Out, Any, Any], read: Callable[[In], Any], value: In | Private[In], source: Source
) -> Out:
    """Send one number, sealed or not, into an interactive mechanism: it leaves its box only to meet the noise."""
    return play.send(read(_opened(value, source)))


def _opened(value: In | Private[In], source: Source) -> In:
    """What is in the box, for noise that nobody can foretell; a value without a box is its owner's to play with."""
    if not isinstance(value, Private):
        return value
    if source.predictable:
        raise NotAllowed(
            "a private value was about to be blurred with noise that can be repeated, and so subtracted.",
            hint="leave the source out; seeds and scripts are for generated values",
            code="SF015",
        )
    opened: In = unseal(value)
    return opened


class Mechanism(ABC, Generic[In, Out]):
    """A private value goes in, a release comes out.

    A subclass is a frozen dataclass of public noise parameters, never of epsilon: `loss` derives the promise from them, and
    `sample` keeps it. Both live here so that they cannot diverge. Its docstring holds the proof.
    """

    noise_field: ClassVar[str] = "scale"
    """The parameter that grows as the promise gets stronger; `calibrate` searches it."""

    @abstractmethod
    def loss(self, sensitivity: Sensitivity | Number) -> Loss:
        """What one release costs when neighbours move the input by at most `sensitivity`."""

    @abstractmethod
    def sample(self, value: In, source: Source) -> Out:
        """One draw of the output."""

    @abstractmethod
    def within(self, confidence: Number) -> float:
        """The half-width that the error of one cell respects with this confidence, rounded up."""

    @abstractmethod
    def audit_cases(self) -> Sequence[Case[In]]:
        """Neighbouring inputs on which the stated loss is reached, or nearly."""

    @classmethod
    @abstractmethod
    def examples(cls) -> Sequence[Self]:
        """Instances that the contract suite verifies and attacks; the first one is the audit's default."""

    def law(self, value: In) -> Law | None:
        """The exact law of `sample(value)`, where it can be written down."""
        return None

    def repeat(self, value: In, count: int, source: Source) -> Sequence[Out]:
        """`count` independent draws for one input, as an audit wants them."""
        return [self.sample(value, source) for _ in range(count)]

    @final
    def release(
        self, value: In | Private[In], sensitivity: Sensitivity | Number, *, source: Source | None = None
    ) -> Release[Out]:
        """The value with noise, and the price. Nothing is charged here: that is the ledger's work."""
        loss, stream = self.loss(sensitivity), source or system_source()
        return Release(self.sample(_opened(value, stream), stream), loss, self)

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        """The instance with the least noise whose loss is at most (epsilon, delta) at this sensitivity."""
        reach = Sensitivity.of(sensitivity)
        target, mass = positive(epsilon, name="epsilon"), probability(delta, name="delta")
        if reach.l1 == 0:
            raise BadInput("nothing to protect: the sensitivity is 0", hint="a public value needs no mechanism")

        def with_noise(amount: Fraction) -> dict[str, Any]:
            return {cls.noise_field: amount, **public}

        least = calibrate(lambda amount: cls(**with_noise(amount)).loss(reach), epsilon=target, delta=mass)
        return cls(**with_noise(least))

    @final
    def describe(self) -> dict[str, str]:
        """Name and public parameters, as certificates print them."""
        fields = {field.name: str(getattr(self, field.name)) for field in dataclasses.fields(self)}  # type: ignore[arg-type]
        return {"mechanism": type(self).__name__, **fields}
