"""The door of whoever publishes weights: priced before anything is read, computed on sealed counts, free ever after.

    columns   = Columns.of({"age": Numeric(17, 90), "sex": Category(["F", "M"])})       # the policy's ranges and values
    reference = Reference.of(columns, {"age": [...], "sex": [...]})                      # the public table
    weighing  = Weighing.priced(reference, size=10_000, reach=reach, epsilon="1/2")      # no row was read
    weighing.loss, weighing.within("0.95"), weighing.mechanism.describe()                # for the preview and the certificate
    tilt      = weighing.released(Private(Rows.of(codes, counts)))                       # once charged; whole numbers to store
    weighted  = weighing.weighted(tilt)                                                  # weights, effective, estimate(values)

`codes` has one row per distinct row of codes and `counts` its number of rows, or sum of row weights: one SELECT grouped by
all codes. A numeric code is floor((x - low) steps / (high - low)) clamped to 0 ... steps, a category's is its place in the
list; rows with a missing value are left out. `reach` is how far one unit moves those counts: l1 = max_rows, under replace twice
that. `size` is about how many rows are private, a public number; where rows are weighed in 2^20ths, both are in 2^20ths. The
owner may call `reference.refuse_copy(rows)` and `reference.refuse_apart(rows)` beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, final

from sfumato.accounting import Loss
from sfumato.core.exact import Number, probability
from sfumato.core.private import Private
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.weights.gaussian import GaussianWeights
from sfumato.mechanisms.weights.laplace import LaplaceWeights
from sfumato.mechanisms.weights.reference import Reference
from sfumato.mechanisms.weights.rows import Rows
from sfumato.mechanisms.weights.weighted import Weighted
from sfumato.mechanisms.weights.weighting import Steps, Weighting
from sfumato.noise import Source


@final
@dataclass(frozen=True)
class Weighing:
    """Weights at their price."""

    mechanism: Weighting
    reach: Sensitivity

    @classmethod
    def priced(
        cls,
        reference: Reference,
        *,
        size: Number,
        reach: Sensitivity | Number = 1,
        epsilon: Number,
        delta: Number = 0,
        **public: Any,
    ) -> Self:
        """With Laplace noise, or with Gaussian noise where a delta makes that the smaller; `public` may hold a penalty."""
        moved = Sensitivity.of(reach)
        asked = {"sensitivity": moved, "epsilon": epsilon, "reference": reference, "size": size, **public}
        options: list[Weighting] = [LaplaceWeights.calibrate(**asked)]
        if probability(delta, name="delta") > 0:
            options.append(GaussianWeights.calibrate(delta=delta, **asked))
        return cls(min(options, key=lambda option: option.noise.mean_square * float(option.step) ** 2), moved)

    @property
    def loss(self) -> Loss:
        return self.mechanism.loss(self.reach)

    def within(self, confidence: Number) -> float:
        """The half-width of one coordinate of the tilt, before any row is read."""
        return self.mechanism.within(confidence)

    def released(self, rows: Private[Rows], *, source: Source | None = None) -> Steps:
        """The noisy tilt, in whole steps: what is stored, and all that is ever told."""
        return self.mechanism.release(rows, self.reach, source=source).value

    def weighted(self, tilt: Sequence[int], *, most: Number | None = None) -> Weighted:
        """The public table with its weights; `most` cuts the largest."""
        return Weighted.of(self.mechanism, tilt, most=most)
