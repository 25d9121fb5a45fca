"""Laplace noise calibrated on the believed laws themselves: discrete, normal, mixtures of normals."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, final

import numpy as np

from sfumato.accounting import DiscreteLaplaceLoss, Loss, calibrate
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, positive, probability
from sfumato.core.neighbours import Relation
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case, Mechanism
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.number.lattice import Value, copies, half_width, noisy
from sfumato.mechanisms.parameter import Grain, Positive, power_below
from sfumato.mechanisms.pufferfish.belief import Belief, Discrete, Mixture
from sfumato.mechanisms.pufferfish.cells import Cells, cells, window
from sfumato.mechanisms.pufferfish.framework import Framework
from sfumato.mechanisms.pufferfish.loss import BeliefLoss, number
from sfumato.noise import DiscreteLaplace, Source, Weighted

_WRITTEN = 512
_BITS = 128
_DRAWN = 60


@final
@dataclass(frozen=True)
class Given:
    """The data as a belief has them when a secret holds: what verification and audit draw from."""

    belief: str
    secret: str


@final
@dataclass(frozen=True)
class PufferfishLaplace(Mechanism[Value | Given, Any]):
    """Add Z to one number, with P(Z = k grains) proportional to exp(-|k| grain / scale); what it costs is about beliefs.

    Proof: `BeliefLoss`, which sums the law of the very output, flooring included, under every belief and for every pair of
    secrets in both orders: nothing continuous is left to integrate, and what lies beyond the window is bounded. More noise
    costs less at every epsilon, since discrete Laplace noise of a larger scale is that of a smaller one plus independent
    noise (the quotient of the two generating functions has positive coefficients), so bisection finds the least.

    Three readings of the literature it improves on. Moving all mass within W costs W/scale (`Wasserstein`), but two normal
    laws of different variances are infinitely far apart. A delta for their far ends mends that (Ding 2024), at more noise
    than is needed: Laplace tails outlast normal ones, so even delta 0 is kept. And a scale from the average cost of moving a
    mixture's components is no promise at all: .99 N(0,1) + .01 N(0,1) against .99 N(0,1) + .01 N(30,1) at scale .3 and
    epsilon 1 has a delta of .01, all of the mass that moved.

    `loss(k)`, or a sensitivity of l1 = k about the framework's secrets, is for a released number of k times the believed one.
    """

    framework: Framework
    scale: Positive = Positive()
    grain: Grain = Grain()

    def __post_init__(self) -> None:
        if not isinstance(self.framework, Framework):
            raise BadInput("no framework was given", hint="give Framework.of(name, pairs, beliefs)")
        for contrast in self.framework.contrasts:
            number(contrast.left), number(contrast.right)

    @property
    def step(self) -> Fraction:
        return self.grain or Fraction(1)

    def loss(self, sensitivity: Sensitivity | Number) -> Loss:
        reach = Sensitivity.of(sensitivity, about=self.framework.about)
        if reach.about.relation is not Relation.SECRETS:
            raise BadInput(
                f"beliefs about secrets promise nothing about: {reach.about}",
                hint="give a number, the multiple of the believed number that is released: 1",
            )
        if reach.l1 == 0:
            return DiscreteLaplaceLoss(Fraction(1), Fraction(0), reach.about)
        return BeliefLoss(self.framework, self.scale / reach.l1, self.step / reach.l1, reach.about)

    def sample(self, value: Value | Given, source: Source) -> Any:
        if isinstance(value, Given):
            return self.repeat(value, 1, source)[0]
        if isinstance(value, np.ndarray):
            raise BadInput("one number was expected", hint="release vectors with Wasserstein and Laplace or Gaussian")
        return noisy(value, grain=self.grain, draw=lambda size: self._noise.sample(source, size))

    def repeat(self, value: Value | Given, count: int, source: Source) -> Sequence[Any]:
        if not isinstance(value, Given):
            return noisy(copies(value, count), grain=self.grain, draw=lambda size: self._noise.sample(source, size))  # type: ignore[no-any-return]
        believed = self._cells(value)
        middles = np.maximum((believed.low + believed.high) / 2 * 2.0**_DRAWN, 0).astype(np.int64)
        drawn = Weighted(tuple(middles.tolist())).sample(source, count)
        steps = believed.first + np.asarray(drawn, dtype=np.int64) + self._noise.sample(source, count)
        drawings: Any = steps if self.grain is None else steps * float(self.grain)
        return drawings  # type: ignore[no-any-return]

    def within(self, confidence: Number) -> float:
        return half_width(self._noise.within(confidence), self.grain)

    def law(self, value: Value | Given) -> Law | None:
        """Of the output when a secret holds: cells bounded as in the loss, noise in certified integers."""
        if not isinstance(value, Given):
            return None
        believed, reach = self._cells(value), 30 * (self._noise.reach + 1)
        if believed.low.size + reach > _WRITTEN:
            return None
        lows = [math.floor(Fraction(p) * (1 << _BITS)) for p in believed.low.tolist()]
        highs = [math.ceil(Fraction(p) * (1 << _BITS)) for p in believed.high.tolist()]
        far = math.ceil((Fraction(believed.left) + Fraction(believed.right)) * (1 << _BITS))
        noise = [self._noise.pmf_bounds(k, _BITS) for k in range(believed.low.size + reach)]
        weights: dict[Hashable, tuple[int, int]] = {}
        for k in range(-reach, believed.low.size + reach):
            low = sum(p * noise[abs(k - f)][0] for f, p in enumerate(lows)) >> _BITS
            high = -(-sum(p * noise[abs(k - f)][1] for f, p in enumerate(highs)) >> _BITS) + far
            step = believed.first + k
            weights[step if self.grain is None else float(step * self.grain)] = (low, high)
        return Law(_BITS, weights, rest=2 * self._noise.tail_bounds(reach + 1, _BITS)[1] + far)

    def audit_cases(self) -> Sequence[Case[Value | Given]]:
        one = Sensitivity.of(1, about=self.framework.about)
        contrasts = self.framework.contrasts
        return tuple(
            Case(Given(c.belief, c.first), Given(c.belief, c.second), one, tight=len(contrasts) == 1) for c in contrasts
        )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(household_example(), 3), cls(mixture_example(), 3, "1/2"))

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        """The least scale for (epsilon, delta), on a grain of a 256th of what the secrets move unless one is given."""
        target, mass = positive(epsilon, name="epsilon"), probability(delta, name="delta")
        framework = public.get("framework")
        if not isinstance(framework, Framework):
            raise BadInput("no framework was given", hint="give Framework.of(name, pairs, beliefs)")
        reach = Sensitivity.of(sensitivity, about=framework.about)
        if reach.l1 == 0:
            raise BadInput("nothing to protect: the sensitivity is 0", hint="a public value needs no mechanism")
        extent = extent_of(framework) * reach.l1
        public.setdefault("grain", None if _whole(framework) else power_below(extent / 256))
        least = calibrate(
            lambda amount: cls(**{**public, "scale": amount}).loss(reach),
            epsilon=target,
            delta=mass,
            start=extent / target,
        )
        return cls(**{**public, "scale": least})

    @property
    def _noise(self) -> DiscreteLaplace:
        return DiscreteLaplace(self.scale / self.step)

    def _cells(self, value: Given) -> Cells:
        for contrast in self.framework.contrasts:
            for secret, law in ((contrast.first, contrast.left), (contrast.second, contrast.right)):
                if (contrast.belief, secret) == (value.belief, value.secret):
                    believed = number(law)
                    return cells(believed, self.step, self.scale, window(believed, self.step, self.scale))
        raise BadInput(
            "no contrast of the framework has this belief and secret", hint="name both as the framework does"
        )


def extent_of(framework: Framework) -> Fraction:
    """How far the numbers of two secrets may be apart, roughly: for a first guess of a scale or a grain."""
    extents = [Fraction(0)]
    for contrast in framework.contrasts:
        ends = [_ends(number(law)) for law in (contrast.left, contrast.right)]
        extents.append(max(high for _, high in ends) - min(low for low, _ in ends))
    return max(extents) or Fraction(1)


def _ends(law: Discrete | Mixture) -> tuple[Fraction, Fraction]:
    if isinstance(law, Discrete):
        return law.points[0][0], law.points[-1][0]
    spread = list(zip(law.means, law.deviations, strict=True))
    return min(m - s for m, s in spread), max(m + s for m, s in spread)


def _whole(framework: Framework) -> bool:
    laws = [law for c in framework.contrasts for law in (c.left, c.right)]
    return all(isinstance(law, Discrete) and all(p[0].denominator == 1 for p in law.points) for law in laws)


def household_example() -> Framework:
    """Three people under one roof: with chance 1/2 an illness goes through all or none, else each falls ill with chance 1/4."""
    alone = Fraction(1, 4)
    outcomes: list[tuple[tuple[str, ...], int, Fraction]] = [
        (("Ana is ill",), 3, Fraction(1, 2) * alone),
        (("Ana is well",), 0, Fraction(1, 2) * (1 - alone)),
    ]
    for others in range(3):
        chance = Fraction(1, 2) * math.comb(2, others) * alone**others * (1 - alone) ** (2 - others)
        outcomes.append((("Ana is ill",), others + 1, chance * alone))
        outcomes.append((("Ana is well",), others, chance * (1 - alone)))
    return Framework.of("household", [("Ana is ill", "Ana is well")], [Belief.of_joint("contagion", outcomes)])


def mixture_example() -> Framework:
    """A number that the secret moves by 2, and makes more uncertain."""
    given = {
        "at home": Mixture.of([("0.7", 0, 1), ("0.3", 2, "1/2")]),
        "away": Mixture.of([("0.7", 2, "3/2"), ("0.3", 4, "1/2")]),
    }
    return Framework.of("absence", [("at home", "away")], [Belief.of("two habits", given)])
