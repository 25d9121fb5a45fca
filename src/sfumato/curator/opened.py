"""From what the ledger stored of a question to its rows: one release, or several pooled. The same wherever it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.curator import pool
from sfumato.queries.answer import Result
from sfumato.queries.answer import answer as assemble

if TYPE_CHECKING:
    from sfumato.curator.preview import Preview

    Vectors = list[np.ndarray[Any, np.dtype[np.int64]]]


def opened(preview: Preview, stored: Mapping[str, Any]) -> Result:
    """The rows of one release."""
    return assemble(preview.bounded, vectors(stored), preview.cell_widths())


def pooled(previews: Sequence[Preview], stored: Sequence[Mapping[str, Any]]) -> Result:
    """The rows of several releases of the same integers, their noise pooled."""
    everything = [vectors(each) for each in stored]
    last = previews[-1]
    mixed, widths = [], []
    for place in range(len(last.mechanisms)):
        mechanisms = tuple(each.mechanisms[place] for each in previews)
        parts = pool.weights(mechanisms)
        mixed.append(pool.pooled(tuple(vectors[place] for vectors in everything), parts))
        widths.append(Fraction(pool.within(mechanisms, parts, last.confidence)))
    return assemble(last.bounded, mixed, widths)


def vectors(stored: Mapping[str, Any]) -> Vectors:
    """The noisy integers, one vector for each statistic."""
    return [np.array(vector, dtype=np.int64) for vector in stored["vectors"]]
