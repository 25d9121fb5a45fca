"""A sheet as one HTML file: nothing is fetched, it prints, it has a dark mode, and a slider needs a few lines of our own."""

from __future__ import annotations

import html
import re
from functools import cache
from typing import Any, assert_never

from sfumato.show.picture import Slides
from sfumato.show.sheet import Block, Code, Folded, Formula, Heading, Paragraph, Sheet, Table, numeric, spelled

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1c; --paper: #fff; --soft: #f4f2ee; --line: #cfcac0; --mark: #8a4b00; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e9e6e0; --paper: #171717; --soft: #232220; --line: #4a4740; --mark: #f0b060; }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 17px/1.55 "DejaVu Serif", Georgia, serif; }
main { max-width: 46rem; margin: 0 auto; padding: 2rem 1.2rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; font-weight: normal; margin: 0 0 .3rem; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
.subtitle { margin: 0 0 1.5rem; opacity: .8; font-size: .92rem; }
.stamp { display: inline-block; border: 2px solid var(--mark); color: var(--mark); padding: .1rem .6rem;
  font: bold .85rem/1.6 "DejaVu Sans", Arial, sans-serif; letter-spacing: .06em; margin-bottom: 1rem; }
.formula { background: var(--soft); border-left: 3px solid var(--line); padding: .7rem 1rem; overflow-x: auto;
  font-style: italic; white-space: pre-wrap; }
.formula sup, .formula sub { line-height: 0 }
table { border-collapse: collapse; margin: 1rem 0; font: .88rem/1.5 "DejaVu Sans", Arial, sans-serif; }
caption { text-align: left; padding: 0 0 .4rem; }
td { white-space: nowrap; } code { font-size: .88em; overflow-wrap: anywhere; }
th, td { padding: .25rem .9rem .25rem 0; text-align: left; border-bottom: 1px solid var(--line); font-weight: normal; }
th { vertical-align: bottom; border-bottom-width: 2px; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; }
figure { margin: 1.2rem 0; } figure svg { max-width: 100%; height: auto; display: block; }
figure [hidden] { display: none; }
figcaption { font-size: .85rem; opacity: .85; }
.slider { display: flex; gap: .8rem; align-items: center; font: .9rem "DejaVu Sans", Arial, sans-serif; }
.slider input { flex: 1; max-width: 22rem; accent-color: var(--mark); }
details { border: 1px solid var(--line); padding: .5rem 1rem; margin: 1rem 0; } summary { cursor: pointer; }
footer { margin-top: 3rem; font-size: .8rem; opacity: .75; border-top: 1px solid var(--line); padding-top: .6rem; }
@media print {
  :root { --ink: #000; --paper: #fff; --soft: #fff; --line: #888; --mark: #000; }
  body { font-size: 11pt } main { max-width: none; padding: 0 } .slider input { display: none }
  figure, table, details { break-inside: avoid } h2 { break-after: avoid }
}
"""

_SCRIPT = """
for (const figure of document.querySelectorAll("figure.slides")) {
  const input = figure.querySelector("input"), output = figure.querySelector("output");
  const slides = [...figure.querySelectorAll("[data-at]")];
  const move = () => {
    slides.forEach((slide, place) => { slide.hidden = place !== input.valueAsNumber; });
    output.value = slides[input.valueAsNumber].dataset.at;
    input.setAttribute("aria-valuetext", output.value);
  };
  input.disabled = false; input.addEventListener("input", move); move();
}
"""

_PAGE = """<!doctype html>
<html lang="{{ sheet.lang }}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<title>{{ sheet.title }}</title>
<style>{{ style }}</style>
</head>
<body><main>
{% if sheet.stamp %}<p class="stamp">{{ sheet.stamp }}</p>{% endif %}
<h1>{{ sheet.title }}</h1>
{% if sheet.subtitle %}<p class="subtitle">{{ sheet.subtitle }}</p>{% endif %}
{% for block in blocks %}{{ block }}
{% endfor %}
<footer>{{ sheet.source }}</footer>
</main>
{% if moving %}<script>{{ script }}</script>{% endif %}
</body>
</html>
"""


_HIGH = re.compile(r"\^(?:\{([^{}]*)\}|(−?[\w′]+))")
_LOW = re.compile(r"_(?:\{([^{}]*)\}|(−?[\w′]+))")


def page(sheet: Sheet) -> str:
    """The whole file."""
    from markupsafe import Markup

    blocks = [Markup(_block(block, sheet, place)) for place, block in enumerate(sheet.blocks)]
    moving = any(isinstance(block, Slides) and len(block.slides) > 1 for block in sheet.blocks)
    filled: str = _template().render(
        sheet=sheet, blocks=blocks, moving=moving, style=Markup(_STYLE), script=Markup(_SCRIPT)
    )
    return filled


@cache
def _template() -> Any:
    from jinja2 import Environment, StrictUndefined

    return Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True).from_string(_PAGE)


def table_html(table: Table, sheet: Sheet) -> str:
    """A table; numbers stand on the right."""
    marks = [' class="n"' if numeric(table, i) else "" for i in range(len(table.columns))]
    head = "".join(f'<th scope="col"{m}>{html.escape(c)}</th>' for c, m in zip(table.columns, marks, strict=True))
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td{mark}>{html.escape(spelled(cell, lang=sheet.lang, digits=table.digits))}</td>"
            for cell, mark in zip(row, marks, strict=True)
        )
        + "</tr>"
        for row in table.rows
    )
    caption = f"<caption>{html.escape(table.caption)}</caption>" if table.caption else ""
    return f'<div class="scroll"><table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _block(block: Block, sheet: Sheet, place: int) -> str:
    match block:
        case Heading(text):
            return f"<h2>{html.escape(text)}</h2>"
        case Paragraph(text):
            return f"<p>{prose(text)}</p>"
        case Formula(_, text):
            return f'<p class="formula">{raised(text)}</p>'
        case Table():
            return table_html(block, sheet)
        case Slides():
            return _figure(block, sheet, place)
        case Code():
            return ""
        case Folded(heading, blocks):
            inner = "".join(_block(each, sheet, place) for each in blocks)
            return f"<details><summary>{html.escape(heading)}</summary>{inner}</details>"
        case _:
            assert_never(block)


def raised(formula: str) -> str:
    """`e^{-x}` and `x_1` with their exponents and indices where they belong."""
    return _LOW.sub(r"<sub>\1\2</sub>", _HIGH.sub(r"<sup>\1\2</sup>", html.escape(formula)))


def prose(text: str) -> str:
    """A paragraph: `code` between backticks, and one-letter indices (f_i)."""
    parts = html.escape(text).split("`")
    spoken = [re.sub(r"_(\w)\b", r"<sub>\1</sub>", part) for part in parts[::2]]
    coded = [f"<code>{part}</code>" for part in parts[1::2]]
    return "".join(one + other for one, other in zip(spoken, [*coded, ""], strict=True))


def _figure(slides: Slides, sheet: Sheet, place: int) -> str:
    from sfumato.show.chart import svg

    drawn = [
        f'<div data-at="{html.escape(slide.label)}"{"" if at == slides.at else " hidden"}>'
        + _own_names(svg(slide.picture, lang=sheet.lang, page=True), f"s{place}-{at}-")
        + f"<figcaption>{html.escape(slide.picture.bars)}</figcaption></div>"
        for at, slide in enumerate(slides.slides)
    ]
    if len(drawn) == 1:
        return f"<figure>{drawn[0]}</figure>"
    label = slides.slides[slides.at].label
    slider = (
        f'<label class="slider"><span>{html.escape(slides.name)} =</span> <output>{html.escape(label)}</output>'
        f'<input type="range" min="0" max="{len(drawn) - 1}" value="{slides.at}" step="1" disabled'
        f' aria-label="{html.escape(slides.name)}"></label>'
    )
    return f'<figure class="slides">{slider}{"".join(drawn)}</figure>'


def _own_names(drawing: str, prefix: str) -> str:
    """Several drawings on one page must not share the names of their clips and gradients."""
    return re.sub(r'(id="|url\(#)(clip|gradient)', rf"\g<1>{prefix}\2", drawing)
