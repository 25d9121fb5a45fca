"""A printed sheet, before it is printed: headings, paragraphs, formulas, tables, pictures, and answers that may be folded away.

`plain`, `page`, `notebook` and `tex` print it; none of them knows what it is about.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, final

from sfumato.show.picture import Slides
from sfumato.show.text import count, decimal, superscript

Lang = Literal["en", "fr"]


@final
@dataclass(frozen=True, slots=True)
class Heading:
    text: str


@final
@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str


@final
@dataclass(frozen=True, slots=True)
class Formula:
    """In LaTeX, and as text: `e^ε`, `x_1`, `e^{-|x|/b}`; braces hold what is raised or lowered."""

    latex: str
    text: str


@final
@dataclass(frozen=True, slots=True)
class Around:
    """A measured number and how far it may be off."""

    value: float
    within: float


Cell = str | int | float | Fraction | Around | None


@final
@dataclass(frozen=True, slots=True)
class Table:
    """Names of columns, and rows; numbers stay numbers until they are printed, with `digits` significant digits."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    digits: int = 3


@final
@dataclass(frozen=True, slots=True)
class Code:
    """Python to be run, in a notebook only."""

    text: str


@final
@dataclass(frozen=True, slots=True)
class Folded:
    """A heading whose text is seen when asked for."""

    heading: str
    blocks: tuple[Paragraph | Formula | Table, ...]


Block = Heading | Paragraph | Formula | Table | Slides | Code | Folded


@final
@dataclass(frozen=True, slots=True)
class Sheet:
    """What is printed, from top to bottom. `stamp` stands over everything: TOY."""

    title: str
    lang: Lang
    blocks: tuple[Block, ...]
    subtitle: str = ""
    stamp: str = ""
    source: str = field(default="sfumato")


def spelled(cell: Cell, *, lang: Lang, digits: int) -> str:
    """A cell as people read it."""
    match cell:
        case None:
            return "–"
        case str():
            return cell
        case Around(value, within):
            return f"{spelled(value, lang=lang, digits=digits)} ± {spelled(within, lang=lang, digits=2)}"
        case int():
            return count(cell, lang=lang).replace("-", "−")
        case _:
            said = decimal(float(cell), digits=digits, lang=lang)
            mantissa, power, exponent = said.partition("e")
            return (f"{mantissa} × 10{superscript(int(exponent))}" if power else said).replace("-", "−")


def numeric(table: Table, column: int) -> bool:
    """Whether a column holds numbers, and is set on the right."""
    return all(not isinstance(row[column], str) for row in table.rows)
