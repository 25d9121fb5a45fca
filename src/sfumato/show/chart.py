"""Charts, all in one look: colours that colour-blind people tell apart, a description for those who do not see them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from sfumato.show.picture import Axis, Picture, Point, Series, names
from sfumato.show.text import count

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#666666"
"""From Okabe and Ito's palette, which survives every common colour blindness."""

COLOURS = (BLUE, ORANGE, "#00866A", "#A63A86", GREY)
"""Series in the order they come: blue, vermilion, green, purple, grey; each stands out from white and from black."""

DASHES = ([1, 0], [7, 4], [2, 3], [9, 3, 2, 3], [1, 0])
DOTTED = [2, 5]
"""What stands for dots in the legend of a chart that has lines too."""

SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")
"""So that series are told apart without colour."""


_PERCENT = {"format": ".0%", "labelExpr": "replace(datum.label, '%', '\u202f%')"}
_GRID = "rgba(128,128,128,0.25)"

SPACED = "replace(format(datum.value, ','), regexp(',', 'g'), '\u202f')"
"""Thousands apart by a thin space, which no language reads as a decimal point."""


def theme(
    chart: Any, *, title: Any, description: str, ink: str = "black", ground: str = "white", lang: str = "en"
) -> Any:
    """The look of every chart, and the words that stand for it where it cannot be seen."""
    numbers = {"decimal": "," if lang == "fr" else ".", "thousands": "\u202f", "grouping": [3], "currency": ["", ""]}
    return (
        chart.properties(title=title, description=description, background=ground)
        .configure(font="DejaVu Sans, Arial, sans-serif", locale={"number": numbers})
        .configure_title(anchor="start", fontSize=15, fontWeight="normal", offset=12, color=ink)
        .configure_axis(
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
            domain=False,
            labelColor=ink,
            titleColor=ink,
            gridColor=_GRID,
            tickColor=_GRID,
        )
        .configure_view(stroke=None)
        .configure_legend(labelFontSize=12, titleFontSize=12, titleFontWeight="normal", labelColor=ink, titleColor=ink)
    )


def class_sizes(sizes: Sequence[int], *, k: int, title: str, size: str, people: str) -> Any:
    """How many people stand in groups of each size; sizes double from bar to bar, and a rule marks k."""
    import altair as alt

    bars: Counter[int] = Counter()
    for each in sizes:
        bars[(each // k).bit_length()] += each
    most = max(bars, default=1)
    data: list[dict[str, Any]] = []
    for step in range(most + 1):
        low, high = (k << (step - 1), (k << step) - 1) if step else (1, k - 1)
        if step or bars[0]:
            said = f"{low}" if low == high else f"{low}–{high}"
            data.append({"size": said, "people": bars[step], "label": count(bars[step]), "small": step == 0})
    order = [bar["size"] for bar in data]
    total = max(1, sum(sizes))
    base = alt.Chart({"values": data}).encode(
        x=alt.X("size:O", sort=order, title=size, axis=alt.Axis(labelAngle=0)),
        y=alt.Y("people:Q", title=people, axis=alt.Axis(tickMinStep=1, labelExpr=SPACED)),
    )
    drawn = base.mark_bar().encode(
        color=alt.condition(alt.datum.small, alt.value(ORANGE), alt.value(BLUE)), tooltip=["size:O", "people:Q"]
    )
    labels = base.mark_text(dy=-7, fontSize=11, color=GREY).encode(text="label:N")
    told = "; ".join(f"{bar['size']}: {bar['people']} ({100 * bar['people'] / total:.0f} %)" for bar in data)
    return theme(
        alt.layer(drawn, labels).properties(width=max(320, 64 * len(data)), height=260),
        title=f"{title} (k = {k})",
        description=f"{title}. {told}.",
    )


def frontier(points: Sequence[Mapping[str, Any]], *, title: str, loss: str, risk: str) -> Any:
    """Detail lost against risk, a point for each k, joined in the order of k."""
    import altair as alt

    base = alt.Chart({"values": [dict(point) for point in points]}).encode(
        x=alt.X("risk:Q", title=risk, axis=alt.Axis(format="%", tickCount=5), scale=alt.Scale(type="sqrt", zero=True)),
        y=alt.Y("loss:Q", title=loss, axis=alt.Axis(format="%"), scale=alt.Scale(zero=True)),
        order=alt.Order("k:Q"),
    )
    line = base.mark_line(color=BLUE, strokeWidth=2)
    dots = base.mark_point(color=BLUE, filled=True, size=70, opacity=1).encode(tooltip=["k:Q", "loss:Q", "risk:Q"])
    names = base.mark_text(dx=9, dy=-9, align="left", fontSize=12, color=GREY).encode(text=alt.Text("label:N"))
    told = "; ".join(f"k {point['k']}: loss {point['loss']:.1%}, risk {point['risk']:.1%}" for point in points)
    return theme(
        alt.layer(line, dots, names).properties(width=460, height=300), title=title, description=f"{title}. {told}."
    )


def drawn(picture: Picture, *, lang: str = "en", page: bool = False) -> Any:
    """A picture, drawn. On a `page` it has no ground of its own and takes the colour of the text around it."""
    import altair as alt

    legend = names(picture)
    used = range(len(legend))
    scales = {
        "color": alt.Scale(domain=legend, range=[COLOURS[i % len(COLOURS)] for i in used]),
        "strokeDash": alt.Scale(
            domain=legend,
            range=[
                DOTTED if picture.series[i].mark == "dots" and not _all_points(picture) else DASHES[i % len(DASHES)]
                for i in used
            ],
        ),
        "shape": alt.Scale(domain=legend, range=[SHAPES[i % len(SHAPES)] for i in used]),
    }
    layers = [layer for series in picture.series for layer in _layers(series, picture, scales)]
    chart = alt.layer(*layers).properties(width=560, height=300)
    title = alt.Title(picture.title, subtitle=[picture.stamp] if picture.stamp else [], subtitleColor="currentColor")
    told = f"{picture.title}. {picture.told}"
    ground = "transparent" if page else "white"
    themed = theme(chart, title=title, description=told, ink="currentColor", ground=ground, lang=lang)
    return themed.configure_legend(
        orient="bottom",
        direction="horizontal",
        title=None,
        columns=2,
        labelFontSize=12,
        labelLimit=420,
        labelColor="currentColor",
        symbolOpacity=1,
        symbolStrokeWidth=2,
    )


def _layers(series: Series, picture: Picture, scales: Mapping[str, Any]) -> list[Any]:
    """What one series is drawn of; error bars under the points."""
    import altair as alt

    data = {"values": [_record(point, series) for point in series.points]}
    x, y = _scaled(alt.X, "x", picture.x), _scaled(alt.Y, "y", picture.y)
    colour = alt.Color("series:N", scale=scales["color"], legend=alt.Legend(symbolType="stroke"))
    dash = alt.StrokeDash("series:N", scale=scales["strokeDash"], legend=alt.Legend())
    base = alt.Chart(data).encode(x=x, color=colour)
    measured = any(point.low is not None for point in series.points)
    form = SHAPES[picture.series.index(series) % len(SHAPES)]
    low, high = alt.Y("low:Q"), alt.Y2("high:Q")
    match series.mark:
        case "rule":
            return [base.mark_rule(strokeWidth=2).encode(strokeDash=dash)]
        case "line" | "steps":
            shape: Any = "step" if series.mark == "steps" else "linear"
            line = base.mark_line(strokeWidth=2, interpolate=shape).encode(y=y, strokeDash=dash)
            band = base.mark_area(opacity=0.18, interpolate=shape).encode(y=low, y2=high)
            return [band, line] if measured else [line]
        case "dots" | "bars":
            offset = _beside(picture, series)
            placed = base.encode(xOffset=offset) if offset is not None else base
            error = placed.mark_errorbar(ticks=True, thickness=1.5).encode(y=low.title(picture.y.title), y2=high)
            if _all_points(picture):
                dots = placed.mark_point(filled=True, size=60, opacity=1).encode(
                    y=y, shape=alt.Shape("series:N", scale=scales["shape"], legend=alt.Legend())
                )
            else:
                dots = placed.mark_point(filled=True, size=60, opacity=1, shape=form).encode(y=y)
            # Outlines in colour, and in dash among bars: they are told apart, and have a sign in the legend, as lines do.
            edge = alt.Stroke("series:N", scale=scales["color"], legend=alt.Legend(symbolType="stroke"))
            bars = placed.mark_bar(fillOpacity=0.45, strokeWidth=1.5).encode(y=y, stroke=edge)
            if all(each.mark == "bars" for each in picture.series):
                bars = bars.encode(strokeDash=dash)
            return [dots if series.mark == "dots" else bars, *([error] if measured else [])]


def _all_points(picture: Picture) -> bool:
    """Whether there is no line, so that shapes stand in the legend."""
    return all(each.mark in ("dots", "bars") for each in picture.series)


def _beside(picture: Picture, series: Series) -> Any:
    """Several series at the same names stand side by side."""
    import altair as alt

    together = [each.name for each in picture.series if each.mark in ("dots", "bars")]
    if picture.x.scale != "names" or len(together) < 2:
        return None
    return alt.XOffset("series:N", scale=alt.Scale(domain=together))


def _record(point: Point, series: Series) -> dict[str, Any]:
    return {"series": series.name, "x": point.x, "y": point.y, "low": point.low, "high": point.high}


def _scaled(channel: Any, field: str, axis: Axis) -> Any:
    import altair as alt

    if axis.scale == "names":
        return channel(f"{field}:N", sort=None, title=axis.title, axis=alt.Axis(labelAngle=0, labelOverlap="parity"))
    domain: dict[str, Any] = {"domain": list(axis.domain), "nice": False} if axis.domain else {}
    scale = alt.Scale(type=axis.scale, zero=field == "y" and axis.scale == "linear" and not axis.domain, **domain)
    look: dict[str, Any] = _PERCENT if axis.percent else {"format": "~g"} if axis.scale == "log" else {}
    return channel(f"{field}:Q", title=axis.title, scale=scale, axis=alt.Axis(tickCount=6, **look))


def svg(picture: Picture, *, lang: str = "en", page: bool = False) -> str:
    """The picture as SVG text, which says in words what it shows."""
    import vl_convert

    text: str = vl_convert.vegalite_to_svg(drawn(picture, lang=lang, page=page).to_dict())
    told = escape(f"{picture.title}. {picture.told}", {'"': "&quot;"})
    return text.replace("<svg ", f'<svg role="img" aria-label="{told}" ', 1)


def pdf(picture: Picture, *, lang: str = "en") -> bytes:
    """The picture as a PDF file."""
    import vl_convert

    made: bytes = vl_convert.vegalite_to_pdf(drawn(picture, lang=lang).to_dict())
    return made


def save(chart: Any, path: str | Path) -> None:
    """As .html (one file, no network), .svg, .png or .json, by the ending of the path."""
    path = Path(path)
    if path.suffix == ".html":
        chart.save(str(path), inline=True)
    elif path.suffix == ".png":
        chart.save(str(path), ppi=144)
    else:
        chart.save(str(path))
