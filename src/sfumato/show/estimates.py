"""Published numbers with their bars: columns or points, or a grid of colours for two keys; the numbers in words beside them."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from sfumato.show.chart import BLUE, SPACED, theme


class Estimates(Protocol):
    """A table of numbers with bars: each measured column `x` has `x_low`, `x_high` and `x_unbiased` beside it."""

    @property
    def columns(self) -> tuple[str, ...]: ...
    @property
    def measured(self) -> tuple[str, ...]: ...
    @property
    def rows(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def drawn(self) -> str: ...
    @property
    def whole(self) -> frozenset[str]: ...
    @property
    def notes(self) -> frozenset[str]: ...


def estimates(table: Estimates, *, title: str) -> Any:
    """One panel for each measured column: bars or points with their error bars, or a grid of colours for two keys."""
    import altair as alt

    keys = [name for name in table.columns if name not in table.measured and name not in table.notes]
    panels = []
    for name in table.measured:
        data = [_drawable(row, keys, name) for row in table.rows if row[name] is not None]
        order = [list(dict.fromkeys(_label(row[key]) for row in table.rows)) for key in keys]
        if table.drawn == "grid" and len(keys) == 2:
            panels.append(_grid(data, keys, order, name))
        else:
            # A count is a length from zero; a mean is a place.
            panels.append(_upright(data, keys, order, name, bars=table.drawn == "bars" or name in table.whole))
    told = f"{title}. {_told(table, keys)}."
    return theme(alt.vconcat(*panels, spacing=28).resolve_scale(color="independent"), title=title, description=told)


def _told(table: Estimates, keys: Sequence[str]) -> str:
    """What the chart shows, in words: the first rows number by number."""
    what, by = ", ".join(table.measured), " and ".join(keys)
    shown = []
    for name in table.measured:
        for row in table.rows:
            value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
            if value is not None:
                group = " ".join(_label(row[key]) for key in keys) or name
                ends = "" if low is None or high is None else f" ({low:.5g} to {high:.5g})"
                shown.append(f"{group} {value:.5g}{ends}")
    rest = f"; and {len(shown) - _SAID} more" if len(shown) > _SAID else ""
    return f"{what}{f' by {by}' if by else ''}, with error bars: {'; '.join(shown[:_SAID])}{rest}"


def _drawable(row: Mapping[str, Any], keys: Sequence[str], name: str) -> dict[str, Any]:
    found = {
        "value": row[name],
        "low": row[f"{name}_low"],
        "high": row[f"{name}_high"],
        "key": " · ".join(_label(row[key]) for key in keys) or name,
    }
    return found | {f"key{place}": _label(row[key]) for place, key in enumerate(keys)}


def _label(value: Any) -> str:
    return "(missing)" if value is None else str(value)


_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
"""Okabe and Ito's palette, the best apart first."""
_INK = "#222222"
_SAID = 12
"""Numbers that a description reads out."""
_WIDEST = 640
_CROWD = 40
"""Labels of more groups than this are thinned out."""


def _upright(
    data: list[dict[str, Any]], keys: Sequence[str], order: Sequence[list[str]], name: str, *, bars: bool
) -> Any:
    import altair as alt

    coloured = len(keys) == 2 and len(order[1]) <= len(_COLOURS)
    main = (order[0] if coloured else None) if keys else None
    field = "key0" if coloured else "key"
    names = {row[field] for row in data}
    groups, each = len(names), len(order[1]) if coloured else 1
    longest = max((len(name) for name in names), default=1)
    room = max(26 * each, 8 * longest + 8)
    upright = room * groups <= _WIDEST
    wide = max(200, room * groups if upright else min(_WIDEST, 26 * each * groups))
    axis = alt.Axis(labelAngle=0 if upright else -50, labelOverlap=groups > _CROWD, labelLimit=140)
    x = alt.X(f"{field}:N", sort=main, title=(keys[0] if coloured else " · ".join(keys)) or None, axis=axis)
    base = alt.Chart({"values": data}).encode(x=x)
    if coloured:
        base = base.encode(xOffset=alt.XOffset("key1:N", sort=order[1]))
    scale = alt.Scale(zero=bars)
    label = alt.Axis(labelExpr=SPACED)
    paint: Any = alt.value(BLUE)
    if coloured:
        paint = alt.Color(
            "key1:N",
            sort=order[1],
            title=keys[1],
            scale=alt.Scale(range=list(_COLOURS[: len(order[1])]), domain=order[1]),
        )
    tip = [alt.Tooltip("key:N"), alt.Tooltip("value:Q"), alt.Tooltip("low:Q"), alt.Tooltip("high:Q")]
    value = alt.Y("value:Q", title=name, scale=scale, axis=label)
    shown = (
        base.mark_bar(opacity=0.85).encode(y=value, color=paint, tooltip=tip)
        if bars
        else base.mark_point(filled=True, size=55, opacity=1).encode(y=value, color=paint, tooltip=tip)
    )
    reach = base.mark_rule(color=_INK, strokeWidth=1.5 if groups <= _CROWD else 0.75).encode(
        y=alt.Y("low:Q", title=name, scale=scale), y2="high:Q"
    )
    layers = (shown, reach) if bars else (reach, shown)
    return alt.layer(*layers).properties(width=wide, height=260)


def _grid(data: list[dict[str, Any]], keys: Sequence[str], order: Sequence[list[str]], name: str) -> Any:
    """Darker is more. What noise could have made by itself is said beside it: a grid has no room for bars."""
    import altair as alt

    wide = max(((row["high"] or 0) - (row["low"] or 0) for row in data), default=0) / 2
    room = max(26, 8 * max(map(len, order[1]), default=1) + 8)
    cell = room if room <= 90 and room * len(order[1]) <= _WIDEST else max(4, min(26, _WIDEST // max(1, len(order[1]))))
    base = alt.Chart({"values": data}).encode(
        x=alt.X(
            "key1:N",
            sort=order[1],
            title=keys[1],
            axis=alt.Axis(labelAngle=0 if cell == room else -50, labelOverlap=True),
        ),
        y=alt.Y("key0:N", sort=order[0], title=keys[0]),
    )
    drawn = base.mark_rect().encode(
        color=alt.Color(
            "value:Q",
            title=f"{name} (±{wide:.3g})",
            scale=alt.Scale(scheme="blues"),
            legend=alt.Legend(labelExpr=SPACED),
        ),
        tooltip=["key:N", "value:Q", "low:Q", "high:Q"],
    )
    return drawn.properties(width=max(120, cell * len(order[1])), height=max(100, min(900, 26 * len(order[0]))))


def svg(chart: Any) -> bytes:
    """An SVG with its description in it, for those who do not see it."""
    import vl_convert

    body = chart.to_dict()
    drawn: str = vl_convert.vegalite_to_svg(body)
    said, title = html.escape(body.get("description", ""), quote=True), html.escape(str(body.get("title", "")))
    start = drawn.index("<svg") + len("<svg")
    inside = drawn.index(">", start) + 1
    opened = f'{drawn[:start]} role="img" aria-label="{said}"{drawn[start:inside]}'
    return f"{opened}<title>{title}</title><desc>{said}</desc>{drawn[inside:]}".encode()
