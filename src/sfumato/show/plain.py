"""A sheet on a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import assert_never

from sfumato.show.picture import Slides
from sfumato.show.sheet import Block, Code, Folded, Formula, Heading, Paragraph, Sheet, Table, numeric, spelled

WIDTH = 92


def plain(sheet: Sheet) -> str:
    """Everything, folded parts included; pictures as the words that stand for them."""
    head = [sheet.title, "═" * len(sheet.title), *([sheet.subtitle] if sheet.subtitle else [])]
    stamp = [f"[{sheet.stamp}]"] if sheet.stamp else []
    parts = [*stamp, "\n".join(head), *(said for block in sheet.blocks for said in _said(block, sheet))]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _said(block: Block, sheet: Sheet) -> Iterator[str]:
    match block:
        case Heading(text):
            yield f"{text}\n{'─' * len(text)}"
        case Paragraph(text):
            yield textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)
        case Formula(_, text):
            yield textwrap.indent(_bare(text), "    ")
        case Table():
            yield _table(block, sheet)
        case Slides():
            picture = block.shown
            told = textwrap.fill(f"▪ {picture.title}. {picture.told}", WIDTH, subsequent_indent="  ")
            yield told
        case Code():
            pass
        case Folded(heading, blocks):
            yield from _said(Heading(heading), sheet)
            for each in blocks:
                yield from _said(each, sheet)
        case _:
            assert_never(block)


def _bare(formula: str) -> str:
    return formula.replace("{", "(").replace("}", ")")


def _table(table: Table, sheet: Sheet) -> str:
    lines = [[spelled(cell, lang=sheet.lang, digits=table.digits) for cell in row] for row in table.rows]
    widths = [max(len(line[i]) for line in [list(table.columns), *lines]) for i in range(len(table.columns))]
    right = [numeric(table, i) for i in range(len(table.columns))]
    printed = [
        "  "
        + "   ".join(
            cell.rjust(width) if on_right else cell.ljust(width)
            for cell, width, on_right in zip(line, widths, right, strict=True)
        )
        for line in [list(table.columns), ["─" * width for width in widths], *lines]
    ]
    caption = [f"  {table.caption}"] if table.caption else []
    return "\n".join(line.rstrip() for line in [*caption, *printed])
