"""Numbers and paragraphs as people read them, in English and in French."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable

_THIN = "\u202f"
WIDTH = 110


def count(number: int, *, lang: str = "en") -> str:
    """30 162, with thin spaces in both languages."""
    return localised(f"{number:,}".replace(",", _THIN), lang)


def decimal(number: float, *, digits: int = 3, lang: str = "en") -> str:
    """A few significant digits; a number without bound says so."""
    if math.isinf(number):
        return "∞"
    return localised(f"{number:.{digits}g}" if abs(number) < 10**digits else f"{number:,.0f}".replace(",", _THIN), lang)


def percent(part: float, *, lang: str = "en") -> str:
    """A part of one as a percentage, two digits below one per cent, one below ten."""
    value = 100 * part
    digits = 0 if value >= 99.95 or value == 0 else 2 if value < 1 else 1
    return localised(f"{value:.{digits}f}{_THIN}%", lang)


def superscript(exponent: int) -> str:
    """-8 as it stands above a line: ⁻⁸."""
    return str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def localised(spelled: str, lang: str) -> str:
    """A number's point becomes a comma in French."""
    return spelled.replace(".", ",") if lang == "fr" else spelled


def labelled(lines: Iterable[tuple[str, str]]) -> str:
    """Paragraphs with their names in a column on the left."""
    pairs = list(lines)
    margin = max((len(name) for name, _ in pairs), default=0) + 3
    return "\n".join(
        textwrap.fill(
            said,
            WIDTH,
            initial_indent=f" {name}".ljust(margin),
            subsequent_indent=" " * margin,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for name, said in pairs
    )
