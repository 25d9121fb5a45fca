"""From what the ledger stored of a question to its rows: one release, or several pooled. The same wherever it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.curator import mixed, pool
from sfumato.curator.parts import restored
from sfumato.mechanisms.histogram.histogram import Histogram
from sfumato.queries.answer import Result
from sfumato.queries.answer import answer as assemble
from sfumato.queries.groups import keys_of
from sfumato.queries.plan import Ranked

if TYPE_CHECKING:
    from sfumato.curator.preview import Preview


def opened(preview: Preview, stored: Mapping[str, Any]) -> Result:
    """The rows of one release."""
    told = [keys_of(name) for name in stored["keys"]] if preview.bounded.private else None
    released, widths = parts(preview, stored), preview.cell_widths()
    return assemble(
        preview.bounded,
        released,
        widths,
        preview.ranks(),
        told=told,
        nonnegative=preview.nonnegative,
        mixed=mixed.widths([preview]),
    )


def pooled(previews: Sequence[Preview], stored: Sequence[Mapping[str, Any]]) -> Result:
    """The rows of several releases of the same integers, their noise pooled; of quantiles, the surest one."""
    everything = [parts(preview, each) for preview, each in zip(previews, stored, strict=True)]
    last = previews[-1]
    cells, widths, ranks = [], [], {}
    for place, statistic in enumerate(last.bounded.tally.statistics):
        copies = tuple(each[place] for each in everything)
        if isinstance(statistic, Ranked):
            best = min(range(len(previews)), key=lambda i, place=place: previews[i].ranks()[place].weight)  # type: ignore[misc]
            cells.append(copies[best])
            widths.append(previews[best].cell_widths()[place])
            ranks[place] = replace(previews[best].ranks()[place], rows=last.ranks()[place].rows)
            continue
        mechanisms = tuple(each.mechanisms[place] for each in previews)
        if isinstance(mechanisms[0], Histogram):
            fitted, width = pool.histograms(mechanisms, copies, last.confidence)
            cells.append(fitted)
            widths.append(width)
            continue
        shares = pool.weights(mechanisms)
        cells.append(pool.pooled(copies, shares))
        widths.append(Fraction(pool.within(mechanisms, shares, last.confidence)))
    both = mixed.widths(previews)
    return assemble(last.bounded, cells, widths, ranks, nonnegative=last.nonnegative, mixed=both)


def parts(preview: Preview, stored: Mapping[str, Any]) -> list[Any]:
    """What was released of each statistic: noisy integers, or the places of quantiles."""
    kept = zip(stored["vectors"], preview.bounded.tally.statistics, preview.mechanisms, strict=True)
    return [restored(each, statistic, mechanism) for each, statistic, mechanism in kept]
