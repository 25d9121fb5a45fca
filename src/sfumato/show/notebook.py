"""A sheet as a Jupyter notebook (nbformat 4.5): prose and formulas to read, code to run; pictures are already in it."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from typing import Any, assert_never

from sfumato.show.picture import Slides
from sfumato.show.sheet import Block, Code, Folded, Formula, Heading, Paragraph, Sheet, Table, spelled


def notebook(sheet: Sheet) -> str:
    """The JSON of the file."""
    stamp = f"**{sheet.stamp}**\n\n" if sheet.stamp else ""
    cells = [_markdown(f"# {sheet.title}\n\n{stamp}{sheet.subtitle}")]
    cells += [cell for block in sheet.blocks for cell in _cells(block, sheet)]
    cells.append(_markdown(sheet.source))
    for place, cell in enumerate(cells):
        cell["id"] = f"cell-{place}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    body = {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(body, ensure_ascii=False, indent=1) + "\n"


def _cells(block: Block, sheet: Sheet) -> Iterator[dict[str, Any]]:
    match block:
        case Heading() | Paragraph() | Formula() | Table():
            yield _markdown(_text(block, sheet))
        case Slides():
            from sfumato.show.chart import svg

            yield _markdown(f"{svg(block.shown, lang=sheet.lang)}\n\n{block.shown.bars}")
        case Code(text):
            yield {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": text}
        case Folded(heading, blocks):
            inner = "\n\n".join(_text(each, sheet) for each in blocks)
            yield _markdown(f"<details><summary>{html.escape(heading)}</summary>\n\n{inner}\n\n</details>")
        case _:
            assert_never(block)


def _text(block: Heading | Paragraph | Formula | Table, sheet: Sheet) -> str:
    match block:
        case Heading(text):
            return f"## {text}"
        case Paragraph(text):
            return _escaped(text)
        case Formula(latex, _):
            return f"$$\n{latex}\n$$"
        case Table():
            lines = [list(block.columns), ["---"] * len(block.columns)]
            lines += [[spelled(cell, lang=sheet.lang, digits=block.digits) for cell in row] for row in block.rows]
            caption = f"{_escaped(block.caption)}\n\n" if block.caption else ""
            return caption + "\n".join(
                "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
            )
        case _:
            assert_never(block)


def _escaped(text: str) -> str:
    """Prose has no markup of its own but `code` and indices: what else Markdown would read is shown as it is."""
    parts = text.split("`")
    for place in range(0, len(parts), 2):
        spoken = re.sub(r"_(\w)\b", "\x00\\1\x01", parts[place])
        spoken = re.sub(r"([\\*_$])", r"\\\1", spoken).replace("<", "&lt;")
        parts[place] = spoken.replace("\x00", "<sub>").replace("\x01", "</sub>")
    return "`".join(parts)


def _markdown(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text}
