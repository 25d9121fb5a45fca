"""Charts, all in one look: colours that colour-blind people tell apart, a description for those who do not see them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.show.text import count

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#666666"
"""From Okabe and Ito's palette, which survives every common colour blindness."""


SPACED = "replace(format(datum.value, ','), regexp(',', 'g'), '\u2009')"
"""Thousands apart by a thin space, which no language reads as a decimal point."""


def theme(chart: Any, *, title: str, description: str) -> Any:
    """The look of every chart, and the words that stand for it where it cannot be seen."""
    return (
        chart.properties(title=title, description=description, background="white")
        .configure(font="DejaVu Sans, Arial, sans-serif")
        .configure_title(anchor="start", fontSize=15, fontWeight="normal", offset=12)
        .configure_axis(labelFontSize=12, titleFontSize=12, titleFontWeight="normal", gridColor="#e5e5e5", domain=False)
        .configure_view(stroke=None)
        .configure_legend(labelFontSize=12, titleFontSize=12, titleFontWeight="normal")
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


def save(chart: Any, path: str | Path) -> None:
    """As .html (one file, no network), .svg, .png or .json, by the ending of the path."""
    path = Path(path)
    if path.suffix == ".html":
        chart.save(str(path), inline=True)
    elif path.suffix == ".png":
        chart.save(str(path), ppi=144)
    else:
        chart.save(str(path))
