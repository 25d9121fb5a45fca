"""How a price looks: what bars it buys, what is counted, with what noise. The command line and notebooks say the same."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sfumato.core.exact import decimal_text
from sfumato.show.answer import notes as shown_notes
from sfumato.show.text import decimal, localised, percent


def text(preview: Any, notes: Sequence[str], *, unit: str) -> str:
    """The price by itself, and all that `lines` says: what is left to pay it from is the session's to say."""
    cost, delta = decimal_text(preview.charge.amount), preview.charge.failure
    whole = f"{'ε' if unit == 'epsilon' else 'ρ'} {cost}" + (f", δ {decimal_text(delta)}" if delta else "")
    return "\n".join([f" {'cost':<9} {whole}; nothing is charged yet", *lines(preview, notes)])


def lines(preview: Any, notes: Sequence[str], *, lang: str = "en") -> list[str]:
    """Bars, what is counted, cells, noise, what should be known, and the strategies that were compared."""
    french = lang == "fr"
    words = ("à", "compté", "bruit", "cases") if french else ("within", "counted", "noise", "cells")
    found = []
    for name, width in preview.within().items():
        if name in preview.quantiles:
            found.append(_ranks_line(preview, name, width, lang))
            continue
        groups = f"groupes de {preview.at}" if french else f"groups of {preview.at}"
        bar, sure = (localised(each, lang) for each in (f"±{width:.4g}", f"{float(preview.confidence) * 100:g} %"))
        found.append(f" {words[0]:<9} {name} {bar}, {groups} ({sure})")
    found.append(f" {words[1]:<9} {preview.counted}")
    if preview.threshold is None:
        found.append(f" {words[3]:<9} {preview.bounded.size:,}")
    else:
        at = (
            f"privées, tues sous le seuil de {preview.threshold}"
            if french
            else f"private, withheld below {preview.threshold}"
        )
        spent = decimal_text(preview.charge.failure)
        found.append(f" {words[3]:<9} {at} ; δ {spent}" if french else f" {words[3]:<9} {at}; δ {spent}")
    found.append(f" {words[2]:<9} {preview.noise()}")
    found += shown_notes(notes, french=french)
    for each in preview.comparisons():
        compared = each.shown(scale=float(preview.bounded.whole), french=french).splitlines()
        found += [f" {'':<9} {line}" for line in compared]
    return found


def _ranks_line(preview: Any, name: str, width: float, lang: str) -> str:
    """How far a quantile's rank may be off, in rows and as a part of a group's."""
    rows = decimal(math.ceil(preview.rank_width(name)), lang=lang)
    sure, part = f"{float(preview.confidence) * 100:g} %", percent(width, lang=lang)
    if lang == "fr":
        return f" {'rangs':<9} {name} ±{rows} lignes, ±{part} d'un groupe de {preview.at} ({sure})"
    return f" {'ranks':<9} {name} ±{rows} rows, ±{part} of a group of {preview.at} ({sure})"
