"""Strategies of any shape: a weight on every bin, and further rows, as multiples of 2^-20."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.mechanisms.histogram.strategy import Floats, Strategy

DIGITS = 20
_LIMB = 24
_ROW_BITS = 38
"""Limbs of 24 bits times a row's weights stay below 2**62."""
_MOST = 1 << 26
_PAIRED = 256


@final
class Matrix(Strategy):
    """Row by row: each bin times its weight in `diagonal`, then the rows of `dense`; weights are whole multiples of 2^-20.

    Without a diagonal, the dense rows alone. The caller's weights are rounded once, and every norm is that of the rounded
    weights, in whole numbers. (Li, Hay, Rastogi, Miklau and McGregor 2010, the matrix mechanism; McKenna, Miklau, Hay and
    Machanavajjhala 2018 for a diagonal and few dense rows.)
    """

    def __init__(self, dense: Any, diagonal: Any = None) -> None:
        self.dense = _rounded(dense)
        bins = self.dense.shape[-1] if self.dense.ndim == 2 else 0
        if bins == 0:
            raise BadInput("a strategy is not a table of rows over bins", hint="give rows of one weight for each bin")
        self.diagonal = None if diagonal is None else _rounded(diagonal)
        if self.diagonal is not None and (self.diagonal.shape != (bins,) or not self.diagonal.all()):
            raise BadInput(
                "the diagonal is not one weight, of 2^-20 or more, for each bin",
                hint="leave out the diagonal, or give every bin a weight",
            )
        if self.dense.size and int(np.abs(self.dense).sum(axis=1).max()) >> _ROW_BITS:
            raise BadInput("the weights of a row add up to more than 2**18", hint="divide the rows by their sums")
        if self.diagonal is None and not _determines(self.dense / (1 << DIGITS)):
            raise BadInput(
                "the rows do not determine the bins", hint="add a row for each bin, or a diagonal of small weights"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        return (int(self.dense.shape[1]),)

    @property
    def scales(self) -> tuple[Fraction, ...]:
        return (Fraction(1 << DIGITS),)

    @property
    def codes(self) -> NDArray[np.int64]:
        return np.zeros(self.dense.shape[0] + (0 if self.diagonal is None else self.shape[0]), dtype=np.int64)

    @property
    def wraps(self) -> bool:
        return False

    @cached_property
    def absolute(self) -> Fraction:
        sums = np.abs(self.dense).sum(axis=0)
        return Fraction(int((sums if self.diagonal is None else sums + np.abs(self.diagonal)).max()), 1 << DIGITS)

    @cached_property
    def squared(self) -> Fraction:
        return Fraction(max(self._squares), 1 << 2 * DIGITS)

    @cached_property
    def _squares(self) -> list[int]:
        """The squares down each column, in whole numbers, of any length."""
        wide = self.dense.astype(object)
        sums = (wide * wide).sum(axis=0) if len(wide) else np.zeros(self.shape, dtype=object)
        return [int(s) + (0 if self.diagonal is None else int(self.diagonal[i]) ** 2) for i, s in enumerate(sums)]

    @cached_property
    def absolute_apart(self) -> Fraction:
        """Pair by pair up to 256 bins, beyond by the triangle inequality."""
        if self.shape[0] > _PAIRED:
            return 2 * self.absolute
        most, own = 0, np.zeros(self.shape, dtype=np.int64) if self.diagonal is None else np.abs(self.diagonal)
        for i in range(self.shape[0] - 1):
            apart = np.abs(self.dense[:, i + 1 :] - self.dense[:, i : i + 1]).sum(axis=0) + own[i] + own[i + 1 :]
            most = max(most, int(apart.max()))
        return max(self.absolute, Fraction(most, 1 << DIGITS))

    @property
    def squared_apart(self) -> Fraction:
        """Rows without negative weights: (a - a')^2 <= a^2 + a'^2; else twice that."""
        return self.squared * (2 if not (self.dense < 0).any() else 4)

    def rows(self, cells: NDArray[Any]) -> NDArray[Any]:
        """In limbs of 24 bits, whose products with the weights fit, and then in Python integers; floats stay floats."""
        if cells.dtype.kind == "f":
            parts = [cells @ self.dense.T]
            return np.concatenate(parts if self.diagonal is None else [cells * self.diagonal, *parts], axis=-1)
        low = cells & ((1 << _LIMB) - 1)
        middle = (cells >> _LIMB) & ((1 << _LIMB) - 1)
        limbs = (low, middle, cells >> 2 * _LIMB)
        total: Any = 0
        for place, limb in enumerate(limbs):
            total = total + ((limb @ self.dense.T).astype(object) << (_LIMB * place))
        if self.diagonal is None:
            return np.asarray(total)
        return np.concatenate([cells.astype(object) * self.diagonal.astype(object), total], axis=-1)

    def estimate(self, rows: NDArray[Any]) -> Floats:
        known = np.asarray(rows, dtype=np.float64) / (1 << DIGITS)
        bins = self.shape[0]
        if self.diagonal is None:
            return self._solved(known @ self._floats)
        return self._solved(known[..., :bins] * self._diagonal + known[..., bins:] @ self._floats)

    def weights(self, query: NDArray[Any]) -> Floats:
        weights: Floats = self.rows(self._solved(np.asarray(query, dtype=np.float64))) / 4**DIGITS
        return weights

    def _solved(self, right: Floats) -> Floats:
        """(A'A)^-1 of it; with a diagonal D by Woodbury's identity, through a matrix as small as there are dense rows."""
        if self.diagonal is None:
            return np.asarray(right @ self._inverse)
        scaled = right / self._diagonal**2
        inner = (scaled @ self._floats.T) @ self._inverse
        return np.asarray(scaled - (inner @ self._floats) / self._diagonal**2)

    @cached_property
    def _floats(self) -> Floats:
        return self.dense / (1 << DIGITS)

    @cached_property
    def _diagonal(self) -> Floats:
        assert self.diagonal is not None
        return self.diagonal / (1 << DIGITS)

    @cached_property
    def _inverse(self) -> Floats:
        dense = self._floats
        if self.diagonal is None:
            return np.asarray(np.linalg.inv(dense.T @ dense), dtype=np.float64)
        inner = np.eye(len(dense)) + (dense / self._diagonal**2) @ dense.T
        return np.asarray(np.linalg.inv(inner), dtype=np.float64)

    def trace(self, gram: Callable[[Floats], Floats], spread: Floats) -> float:
        """tr((A'A)^-1 G), where `spread` is the diagonal of G."""
        if self.diagonal is None:
            return float((self._inverse * gram(np.eye(self.shape[0]))).sum())
        lifted = self._floats / self._diagonal**2
        return float((spread / self._diagonal**2).sum() - (self._inverse * (lifted @ gram(lifted.T))).sum())

    @property
    def typical(self) -> Floats:
        """The bin of largest variance: the largest on the diagonal of (A'A)^-1."""
        if self.diagonal is None:
            spread = np.diag(self._inverse)
        else:
            lifted = self._floats / self._diagonal**2
            spread = 1 / self._diagonal**2 - np.einsum("ri,rs,si->i", lifted, self._inverse, lifted, optimize=True)
        query = np.zeros(self.shape)
        query[int(np.argmax(spread))] = 1
        return query

    @cached_property
    def digest(self) -> str:
        """A name for the weights."""
        diagonal = b"" if self.diagonal is None else self.diagonal.tobytes()
        return hashlib.sha256(repr(self.dense.shape).encode() + self.dense.tobytes() + b"/" + diagonal).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Matrix) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        own = "" if self.diagonal is None else "weights on bins and "
        return f"{own}{self.dense.shape[0]} rows over {self.shape[0]} bins, {self.digest[:32]}"

    @classmethod
    def identity_and(cls, extra: Floats) -> Self:
        """Each bin, and further rows relative to it; every column brought to an absolute sum of just 1 (p-identity)."""
        long = 1 + np.abs(extra).sum(axis=0)
        return cls(extra / long, 1 / long)


def _determines(rows: Floats) -> bool:
    """Whether the rows have as many dimensions as bins, as far as floats can tell: by the pivots of Cholesky's factor."""
    try:
        pivots = np.diag(np.linalg.cholesky(rows.T @ rows))
    except np.linalg.LinAlgError:
        return False
    return bool(pivots.min() > 1e-7 * pivots.max())


def _rounded(weights: Any) -> NDArray[np.int64]:
    """Whole multiples of 2^-20: arrays of whole numbers are weights of that many, floats are rounded."""
    array = np.asarray(weights)
    if array.dtype.kind not in "iuf" or not np.isfinite(array).all() or (array.size and np.abs(array).max() > 64):
        raise BadInput("weights of a strategy are not numbers of at most 64", hint="divide the rows by their largest")
    if array.size > _MOST:
        raise BadInput("a strategy has more than 2**26 weights", hint="use a hierarchy for that many bins")
    whole = np.rint(array.astype(np.float64) * (1 << DIGITS)).astype(np.int64)
    whole.setflags(write=False)
    return whole
