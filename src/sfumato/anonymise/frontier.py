"""What more anonymity costs: the same table at several k, as risk against detail lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, final

from sfumato.anonymise.roles import opened
from sfumato.anonymise.run import anonymise
from sfumato.anonymise.words import Lang, say


@final
@dataclass(frozen=True, slots=True)
class Point:
    """One k: the loss, the mean prosecutor risk, and the part of people whose sensitive value is told (the worst
    column)."""

    k: int
    loss: float
    risk: float
    told: float
    groups: int
    suppressed: int


@final
@dataclass(frozen=True, slots=True)
class Frontier:
    """The points, from the smallest k on."""

    points: tuple[Point, ...]
    lang: Lang = "en"

    def plot(self) -> Any:
        """Detail lost against risk."""
        from sfumato.show.chart import frontier as draw

        return draw(
            [{**asdict(point), "label": f"k = {point.k}"} for point in self.points],
            title=say("chart.frontier", self.lang),
            loss=say("chart.loss", self.lang),
            risk=say("chart.risk", self.lang),
        )


def frontier(frame: Any, *, ks: Sequence[int] = (2, 3, 5, 10, 20, 50, 100), **asked: Any) -> Frontier:
    """Anonymise at every k that the table has people for; the other arguments are those of `anonymise`."""
    points = []
    rows = len(opened(frame))
    for k in sorted(k for k in ks if k <= rows):
        report = anonymise(frame, k=k, **asked).report
        told = max((each.certain / max(1, each.people) for each in report.homogeneity), default=0.0)
        points.append(
            Point(k, report.utility.loss, report.risk.prosecutor_mean, told, report.utility.classes, report.suppressed)
        )
    return Frontier(tuple(points), asked.get("lang", "en"))
