"""Spaces as French typography wants them: authors type plain ones, and these become the ones that never break a line."""

from __future__ import annotations

import re

NARROW, FIRM = "\u202f", "\u00a0"
"""The narrow space before ; ! ? and inside numbers, and the firm one before : and inside « »."""

_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r" +([;!?])"), NARROW + r"\1"),
    (re.compile(r" +:"), FIRM + ":"),
    (re.compile(r"« *"), "«" + FIRM),
    (re.compile(r" *»"), FIRM + "»"),
    (re.compile(r"(?<=\d) +(?=[%$€])"), NARROW),
    (re.compile(r"(?<=\d) (?=\d{3}(?!\d))"), NARROW),
)


def french(text: str) -> str:
    """The same sentence with its spaces made firm and its apostrophes curly; `code` between backticks stays as it is."""
    parts = text.split("`")
    for place in range(0, len(parts), 2):
        for pattern, kept in _RULES:
            parts[place] = pattern.sub(kept, parts[place])
        parts[place] = firm(parts[place].replace("'", "’"))
    return "`".join(parts)


def firm(text: str) -> str:
    """Signs that no line may begin or end with, in any language."""
    return re.sub(r" ([=×≈≤≥±]) ", rf"{FIRM}\1{FIRM}", text)


_NUMBERED = re.compile(r"\b(?:section|lemme|théorème|définition|figure|annexe)s?\s+[A-Z]?[\d.]+\d", re.IGNORECASE)


def slips(text: str) -> list[str]:
    """What French readers would stumble on: a plain space before ; : ? ! or inside « », a decimal point in a number.

    The numbers of sections and theorems keep their points.
    """
    pattern = re.compile(r".{0,20}(?:[ \t][;:?!»]|«[ \t]|\d\.\d).{0,20}")
    return [found.group() for line in _NUMBERED.sub("", text).splitlines() for found in pattern.finditer(line)]
