"""What a chart shows, before it is drawn: axes, series of points with their error bars, and the words that stand for it.

`show/chart.py` draws it. A series that holds measured numbers says how far each may be off, or there is no picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, final

from sfumato.core.errors import Bug

Mark = Literal["dots", "line", "steps", "bars", "rule"]
Scale = Literal["linear", "log", "names"]


@final
@dataclass(frozen=True, slots=True)
class Point:
    """One number at one place; `low` and `high` are the ends of its error bar."""

    x: float | str
    y: float
    low: float | None = None
    high: float | None = None


@final
@dataclass(frozen=True, slots=True)
class Series:
    """Points that belong together. `exact` says that they are computed from a formula, and need no bars.

    dots: points with bars. line, steps: joined points with a band. bars: columns from 0 with bars. rule: a vertical line at
    each x, whose y is not looked at.
    """

    name: str
    points: tuple[Point, ...]
    mark: Mark = "dots"
    exact: bool = False

    def __post_init__(self) -> None:
        if not self.exact and self.mark != "rule" and any(p.low is None or p.high is None for p in self.points):
            raise Bug(f"the series {self.name} has measured points without error bars")


@final
@dataclass(frozen=True, slots=True)
class Axis:
    """A title and a scale; a domain keeps it the same while a slider moves. `percent` writes 0.5 as 50 %."""

    title: str
    scale: Scale = "linear"
    domain: tuple[float, float] | None = None
    percent: bool = False


@final
@dataclass(frozen=True, slots=True)
class Picture:
    """A chart as a value. `told` says in words what it shows, for those who do not see it."""

    title: str
    told: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    bars: str = ""
    """What the error bars are: "95 % of 1 000 draws"."""
    stamp: str = ""
    """Written over the picture: TOY."""


@final
@dataclass(frozen=True, slots=True)
class Slide:
    """One position of a slider."""

    label: str
    picture: Picture


@final
@dataclass(frozen=True, slots=True)
class Slides:
    """One picture, or one for each position of a slider; `at` is the one that is seen first, and printed."""

    slides: tuple[Slide, ...]
    at: int = 0
    name: str = "ε"

    @classmethod
    def one(cls, picture: Picture) -> Slides:
        """A picture without a slider."""
        return cls((Slide("", picture),))

    @property
    def shown(self) -> Picture:
        return self.slides[self.at].picture

    def records(self) -> Iterator[dict[str, str]]:
        """Every point as one row of a table; numbers keep their decimal point in every language."""
        for slide in self.slides:
            for series in slide.picture.series:
                for point in series.points:
                    place = {self.name: slide.label.replace(",", ".")} if len(self.slides) > 1 else {}
                    values = {"x": point.x, "y": point.y, "low": point.low, "high": point.high}
                    yield {
                        **place,
                        "series": series.name,
                        **{key: "" if value is None else f"{value}" for key, value in values.items()},
                    }


def names(picture: Picture) -> Sequence[str]:
    """The series in the order of the legend."""
    return [series.name for series in picture.series]
