"""What an adversary may believe of the released number, for each secret: public laws, never fitted on private data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, final

from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, fraction, non_negative, positive

Point = tuple[Fraction, ...]


def _chances(values: Iterable[Number], what: str) -> tuple[Fraction, ...]:
    chances = tuple(non_negative(value, name=f"a chance of {what}") for value in values)
    if sum(chances) != 1:
        raise BadInput(
            f"the chances of {what} do not sum to one",
            hint="write them as exact decimals or fractions: '0.99' and '0.01', Fraction(1, 3)",
        )
    return chances


def _whole_law(chances: Sequence[Fraction], size: int, what: str) -> None:
    if not chances or len(chances) != size or min(chances) <= 0:
        raise BadInput(f"{what} lacks a chance above 0 for each of its parts", hint="leave out what has no chance")
    _chances(chances, what)


@final
@dataclass(frozen=True)
class Discrete:
    """Finitely many numbers, or vectors of one length, each with a chance above 0."""

    points: tuple[Point, ...]
    chances: tuple[Fraction, ...]

    @classmethod
    def of(cls, chances: Mapping[Any, Number]) -> Self:
        """From {number: chance} or {(number, number, ...): chance}."""
        shares = _chances(chances.values(), "a discrete law")
        points = [
            tuple(fraction(x, name="a point") for x in (key if isinstance(key, tuple) else (key,))) for key in chances
        ]
        kept = sorted((point, share) for point, share in zip(points, shares, strict=True) if share > 0)
        return cls(tuple(point for point, _ in kept), tuple(share for _, share in kept))

    def __post_init__(self) -> None:
        _whole_law(self.chances, len(self.points), "a discrete law")
        if len({len(point) for point in self.points}) != 1 or not self.points[0]:
            raise BadInput("the points of a law differ in length", hint="give numbers, or vectors of one length")
        if list(self.points) != sorted(set(self.points)):
            raise BadInput("a law has one point twice, or points out of order", hint="make it with Discrete.of")

    @property
    def width(self) -> int:
        return len(self.points[0])


@final
@dataclass(frozen=True)
class Mixture:
    """A mixture of normal laws of one number: chances, means, and standard deviations above 0."""

    chances: tuple[Fraction, ...]
    means: tuple[Fraction, ...]
    deviations: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        _whole_law(self.chances, len(self.means), "a mixture")
        if len(self.deviations) != len(self.means) or min(self.deviations) <= 0:
            raise BadInput("a standard deviation is missing, or not above 0", hint="give one above 0 per component")

    @classmethod
    def of(cls, parts: Sequence[tuple[Number, Number, Number]]) -> Self:
        """From (chance, mean, standard deviation), one per component."""
        if not parts or any(len(part) != 3 for part in parts):
            raise BadInput(
                "a mixture is not a list of components", hint="give (chance, mean, standard deviation) for each"
            )
        shares = _chances((chance for chance, _, _ in parts), "a mixture")
        kept = [(share, *part[1:]) for share, part in zip(shares, parts, strict=True) if share > 0]
        return cls(
            tuple(share for share, _, _ in kept),
            tuple(fraction(mean, name="a mean") for _, mean, _ in kept),
            tuple(positive(deviation, name="a standard deviation") for _, _, deviation in kept),
        )

    @classmethod
    def normal(cls, mean: Number, deviation: Number) -> Self:
        """One normal law."""
        return cls.of([(1, mean, deviation)])

    @property
    def width(self) -> int:
        return 1


@final
@dataclass(frozen=True)
class NormalVector:
    """N(mean, factor factor^T), for a lower triangular factor with a positive diagonal."""

    mean: Point
    factor: tuple[Point, ...]

    def __post_init__(self) -> None:
        rows = list(enumerate(self.factor))
        if len(rows) != len(self.mean) or any(
            len(row) != len(rows) or row[i] <= 0 or any(row[i + 1 :]) for i, row in rows
        ):
            raise BadInput(
                "a factor is not lower triangular with a positive diagonal", hint="make it with NormalVector.of"
            )

    @classmethod
    def of(cls, mean: Sequence[Number], covariance: Sequence[Sequence[Number]]) -> Self:
        """From a covariance, whose factor floats find: the law that counts is the factor's, last digits and all.

        Nothing is assumed of the rounding: the belief is what is stored.
        """
        import numpy as np

        matrix = np.array([[float(fraction(x, name="a covariance")) for x in row] for row in covariance])
        centre = tuple(fraction(x, name="a mean") for x in mean)
        if matrix.shape != (len(centre), len(centre)) or not np.array_equal(matrix, matrix.T):
            raise BadInput(
                "a covariance is not a symmetric square matrix of the mean's size", hint="give d rows of d numbers"
            )
        values = np.linalg.eigvalsh(matrix)
        if values.min() <= 1e-12 * max(values.max(), 0.0):
            raise BadInput(
                "a covariance is singular, or not positive",
                hint="a belief that is certain of a combination of numbers hides nothing about it: leave one of them out",
            )
        factor = np.linalg.cholesky(matrix)
        return cls(centre, tuple(tuple(Fraction(x) for x in row) for row in factor.tolist()))

    @property
    def width(self) -> int:
        return len(self.mean)


Law = Discrete | Mixture | NormalVector
"""The law of the released number or vector, given a secret."""


@final
@dataclass(frozen=True)
class Belief:
    """One of the adversary's possible beliefs: how likely each secret is, and the law of the number given each."""

    name: str
    given: tuple[tuple[str, Law], ...]
    chances: tuple[tuple[str, Fraction], ...]

    @classmethod
    def of(cls, name: str, given: Mapping[str, Law], *, chances: Mapping[str, Number] | None = None) -> Self:
        """From the law given each secret. `chances` of the secrets are needed only where one of them is 0."""
        shares = {secret: Fraction(1, len(given)) for secret in given}
        if chances is not None:
            shares = dict(zip(chances, _chances(chances.values(), "the secrets"), strict=True))
        return cls(name, tuple(given.items()), tuple(shares.items()))

    @classmethod
    def of_joint(cls, name: str, outcomes: Iterable[tuple[Iterable[str], Number | tuple[Number, ...], Number]]) -> Self:
        """From a whole model, as (secrets that hold, released number, chance): its laws given each secret, by Bayes' rule."""
        listed = [(frozenset(holds), value, chance) for holds, value, chance in outcomes]
        shares = _chances((chance for _, _, chance in listed), "a model")
        secrets = sorted({secret for holds, _, _ in listed for secret in holds})
        given: list[tuple[str, Law]] = []
        totals: list[tuple[str, Fraction]] = []
        for secret in secrets:
            weights: dict[Any, Fraction] = {}
            for (holds, value, _), share in zip(listed, shares, strict=True):
                if secret in holds:
                    weights[value] = weights.get(value, Fraction(0)) + share
            total = sum(weights.values(), Fraction(0))
            totals.append((secret, total))
            if total > 0:
                given.append((secret, Discrete.of({value: weight / total for value, weight in weights.items()})))
        return cls(name, tuple(given), tuple(totals))

    def law(self, secret: str) -> Law | None:
        """The law given this secret; None when the belief gives the secret no chance."""
        if dict(self.chances).get(secret, Fraction(0)) == 0:
            return None
        return dict(self.given).get(secret)
