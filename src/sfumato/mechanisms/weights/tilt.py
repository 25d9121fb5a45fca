"""The logistic regression of private against public rows, solved to a gradient whose bound is certified."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from sfumato.core.errors import Bug
from sfumato.core.exact import sqrt_up
from sfumato.mechanisms.weights.column import Floats
from sfumato.mechanisms.weights.reference import CONSTANT, Reference
from sfumato.mechanisms.weights.rows import Rows

_BLOCK = 128
_SUMMED = Fraction(1, 1 << 45)
_ULP = Fraction(1, 1 << 52)
_ROUNDS = 200
_FLAT = 700.0


@final
@dataclass(frozen=True, eq=False)
class Objective:
    """J(b) = 1/size sum_D w ln(1 + e^(-b.u)) + 1/n sum_E ln(1 + e^(b.u)) + penalty |b|^2, strongly convex with 2 penalty.

    `gradient` is a float; `certified` bounds the norm of the true gradient. Its proof, for coordinates that are exact floats
    within [-1, 1], d of them, and U = 2^-53:
    - b.u has d products and sums in any order, fused or not: it is off by at most (d + 4) 2U |b|_1 (Higham 2002, 3.5). A
      sigmoid has slope 1/4 at most; exp, the sum and the quotient add a relative 6 2U at most (exp is taken to be within 4
      units, as everywhere in `accounting`); where b.u is clipped at 700 the change is below e^-700.
    - Weights are whole and below 2^53. Weighted sums run over blocks of 128 in any order and then exactly (`fsum`): off by at
      most (128 + 4) U sum w. With the sigmoids' 8 2U that is below 2^-45 sum w; both are sums of terms of size w at most.
    - The three parts of the gradient are joined, and its norm taken, in rationals, rounded up.
    """

    private: Floats
    weights: Floats
    size: Fraction
    public: Floats
    penalty: Fraction

    @classmethod
    def of(cls, rows: Rows, reference: Reference, *, size: Fraction, penalty: Fraction) -> Objective:
        """With the intercept's constant coordinate last."""
        seen = reference.seen(reference.columns.checked(rows.codes))
        return cls(
            _lengthened(seen), rows.weights.astype(np.float64), size, _lengthened(reference.coordinates), penalty
        )

    def gradient(self, tilt: Floats) -> Floats:
        pull = _block_sums(self.private, self.weights * _sigmoid(-(self.private @ tilt)))
        push = _block_sums(self.public, _sigmoid(self.public @ tilt))
        return -pull / float(self.size) + push / len(self.public) + 2 * float(self.penalty) * tilt

    def curvature(self, tilt: Floats) -> Floats:
        """The matrix of second derivatives."""
        own, other = _sigmoid(self.private @ tilt), _sigmoid(self.public @ tilt)
        inner = (self.private.T * (self.weights * own * (1 - own) / float(self.size))) @ self.private
        outer = (self.public.T * (other * (1 - other) / len(self.public))) @ self.public
        ridge: Floats = inner + outer + 2 * float(self.penalty) * np.eye(len(tilt))
        return ridge

    def certified(self, tilt: Floats) -> Fraction:
        """At least the norm of the gradient at these floats."""
        pull = _block_sums(self.private, self.weights * _sigmoid(-(self.private @ tilt)))
        push = _block_sums(self.public, _sigmoid(self.public @ tilt))
        if not (np.isfinite(pull).all() and np.isfinite(push).all() and np.isfinite(tilt).all()):
            return Fraction(1 << 60)
        exact = [Fraction(b) for b in tilt.tolist()]
        parts = zip(pull.tolist(), push.tolist(), exact, strict=True)
        whole = [-Fraction(d) / self.size + Fraction(e) / len(self.public) + 2 * self.penalty * b for d, e, b in parts]
        share = Fraction(int(self.weights.sum())) / self.size + 1
        product = (len(exact) + 4) * _ULP * sum(map(abs, exact), Fraction(0))
        each = share * (_SUMMED + product / 4)
        return sqrt_up(sum((g * g for g in whole), Fraction(0))) + sqrt_up(Fraction(len(exact))) * each


def solve(objective: Objective, tolerance: Fraction) -> Floats:
    """A point whose true gradient has a norm of at most `tolerance`, for certain, or no point at all.

    Newton's steps, halved until the gradient's norm falls: its slope along a Newton step is minus itself, so some step does.
    What floats do on the way is of no account: the last word is the certificate's. With the usual tolerance, a 1024th of one
    unit's pull, the certificate's own error leaves room for some 2^32 units; beyond, and then only, this ends in a crash.
    """
    tilt = np.zeros(objective.public.shape[1])
    gradient = objective.gradient(tilt)
    norm = float(np.linalg.norm(gradient))
    for _ in range(_ROUNDS):
        if norm <= tolerance and objective.certified(tilt) <= tolerance:
            return tilt
        step = np.linalg.solve(objective.curvature(tilt), gradient)
        share = 1.0
        while share > 1e-9:
            trial = tilt - share * step
            slope = objective.gradient(trial)
            if float(np.linalg.norm(slope)) <= (1 - share / 4) * norm:
                break
            share /= 2
        else:
            break
        tilt, gradient, norm = trial, slope, float(np.linalg.norm(slope))
    raise Bug(
        "the fit of the weights did not reach its tolerance, so nothing was released",
        hint="give a larger tolerance, or a size nearer to the number of rows",
    )


def _lengthened(seen: Floats) -> Floats:
    longer: Floats = np.column_stack([seen, np.full(len(seen), float(CONSTANT))])
    return longer


def _sigmoid(x: Floats) -> Floats:
    values: Floats = 1 / (1 + np.exp(-np.clip(x, -_FLAT, _FLAT)))
    return values


def _block_sums(rows: Floats, weights: Floats) -> Floats:
    """The sum of weights times rows: blocks of 128 in floats, and then exactly."""
    whole = len(rows) // _BLOCK * _BLOCK
    blocks = np.einsum(
        "bi,bij->bj", weights[:whole].reshape(-1, _BLOCK), rows[:whole].reshape(-1, _BLOCK, rows.shape[1])
    )
    rest = weights[whole:] @ rows[whole:]
    return np.array([math.fsum([*column, last]) for column, last in zip(blocks.T.tolist(), rest.tolist(), strict=True)])
