"""How an answer looks: text for terminals, HTML for notebooks, a chart. A number never stands without its bar."""

from __future__ import annotations

import html as markup
import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from sfumato.show.text import decimal, localised, percent

_BLOCKS = 22
_THIN = "\u202f"


class Shown(Protocol):
    """What an answer offers to be shown."""

    @property
    def columns(self) -> tuple[str, ...]: ...
    @property
    def measured(self) -> tuple[str, ...]: ...
    @property
    def rows(self) -> list[dict[str, Any]]: ...
    def to_json(self) -> dict[str, Any]: ...


def text(answer: Shown, *, lang: str = "en") -> str:
    """A table with a bar beside every number, and a line that says what it cost."""
    body, rows = answer.to_json(), answer.rows
    header, lines = table(answer, body, rows, lang=lang)
    widths = [max(len(line[i]) for line in [header, *lines]) for i in range(len(header))]
    numeric = [name in answer.measured or name == "±" for name in _names(answer)]
    shown = [
        " "
        + "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        )
        + blocks
        for line, blocks in zip([header, *lines], ["", *_blocks(answer, rows)], strict=True)
    ]
    return "\n".join([*(line.rstrip() for line in shown), *footer(body, lang=lang)])


def table(
    answer: Shown, body: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], *, lang: str = "en"
) -> tuple[list[str], list[list[str]]]:
    """Header and cells as text; each measured column is followed by its half-width.

    `body` and `rows` are the answer's own, made once: a million cells take seconds to spell out.
    """
    measured = set(answer.measured)
    percent = f"{float(body['confidence']) * 100:g} %"
    header = [percent if name == "±" else name for name in _names(answer)]
    lines = []
    for row in rows:
        line: list[str] = []
        for name in answer.columns:
            if name not in measured:
                line.append("NULL" if row[name] is None else str(row[name]))
                continue
            if f"{name}_ranks" in row:
                line += _quantile(row, name, body["ranks"][name], lang=lang)
                continue
            value, high, raw = row[name], row[f"{name}_high"], row[f"{name}_unbiased"]
            width = None if high is None else high - raw
            line += [
                number(value, width, lang=lang),
                "" if width is None else f"±{number(width, width, lang=lang, up=True)}",
            ]
        lines.append(line)
    return header, lines


def _quantile(row: Mapping[str, Any], name: str, known: Mapping[str, Any], *, lang: str) -> list[str]:
    """A quantile or a list of them, and a bar in values if it is known for all, or else in ranks, or in rows."""
    several = isinstance(row[name], list)
    values, highs, ranks = (row[key] if several else [row[key]] for key in (name, f"{name}_high", f"{name}_ranks"))
    shown = "; ".join("–" if value is None else _spelled(value, lang) for value in values)
    if any(high is not None for high in highs):
        lows = row[f"{name}_low"] if several else [row[f"{name}_low"]]
        bar = "; ".join(_ends(*each, lang) for each in zip(values, lows, highs, strict=True))
    elif None not in ranks:
        bar = f"±{percent(max(ranks), lang=lang)} {'des rangs' if lang == 'fr' else 'of ranks'}"
    else:
        bar = f"±{decimal(math.ceil(known['rows']), lang=lang)} {'rangs' if lang == 'fr' else 'ranks'}"
    return [f"[{shown}]" if several else shown, bar]


def _ends(value: Any, low: Any, high: Any, lang: str) -> str:
    """The half-width of a number, or both ends of a day or a category."""
    if high is None:
        return "–"
    return f"±{localised(f'{high - value:.3g}', lang)}" if isinstance(value, float) else f"{low} … {high}"


def _spelled(value: Any, lang: str) -> str:
    return localised(f"{value:.6g}", lang) if isinstance(value, float) else str(value)


def apart(
    rows: Sequence[Mapping[str, Any]], measured: Sequence[str], quantiles: Mapping[str, Sequence[Any]]
) -> tuple[list[dict[str, Any]], list[str]]:
    """The same rows with a column for each quantile of a list, for charts."""
    names = [
        each
        for name in measured
        for each in ([f"{name} {float(q):g}" for q in quantiles[name]] if len(quantiles.get(name, ())) > 1 else [name])
    ]
    found = []
    for row in rows:
        wide = dict(row)
        for name, at in quantiles.items():
            for i, q in enumerate(at) if len(at) > 1 else ():
                wide |= {f"{name} {float(q):g}{end}": row[f"{name}{end}"][i] for end in ("", "_low", "_high")}
        found.append(wide)
    return found, names


def number(value: float | None, width: float | None, *, lang: str = "en", up: bool = False) -> str:
    """With as many digits as its half-width makes meaningful: one more than the first of the width."""
    if value is None:
        return "–"
    scale = abs(width) if width else abs(value) / 100
    decimals = 0 if scale <= 0 else max(0, min(6, 1 - math.floor(math.log10(scale))))
    if up:
        value = math.ceil(value * 10**decimals) / 10**decimals
    spelled = f"{value:,.{decimals}f}".replace(",", _THIN)
    return spelled.replace(".", ",") if lang == "fr" else spelled


def footer(body: Mapping[str, Any], *, lang: str = "en") -> list[str]:
    """What it cost, what is left, its name in the ledger, its noise; what was counted and what the bar covers."""
    french = lang == "fr"
    unit = "ε" if "epsilon" in body["spent"] else "ρ"
    spent, left = (next(iter(body[word].values())) for word in ("spent", "left"))
    cost = "replayed, free" if body["replayed"] else f"spent {unit} {spent}"
    if french:
        cost = "déjà publiée, gratuite" if body["replayed"] else f"dépensé {unit} {spent.replace('.', ',')}"
        left = left.replace(".", ",")
    rest, name = ("reste", "réponse") if french else ("left", "answer")
    counted = f"compté\u202f: {body['counted']}" if french else f"counted {body['counted']}"
    covers = _covers(body, french=french)
    paid = f"{cost} · {rest} {left} · {name} {body['answer']}"
    if body.get("dummy"):
        paid = "DUMMY: drawn from the policy alone, about nobody"
        paid = "DUMMY\u202f: tiré de la politique seule, de personne" if french else paid
    said = [f" {paid} · {body['noise']}", f" {counted}; {covers}"]
    ranked = ranks(body.get("ranks", {}), lang=lang)
    withheld_ = withheld(body.get("threshold"), french=french)
    known = notes(body.get("notes", []), french=french)
    chosen = chosen_by_noise(body.get("chosen_by_noise", []), french=french)
    return [*said, *known, *ranked, *chosen, *withheld_, *missing(body.get("missing", {}), french=french)]


def _covers(body: Mapping[str, Any], *, french: bool) -> str:
    """What the bars cover, and whether they hold one by one or together."""
    said = "la barre ne couvre que le bruit" if french else "the bar covers noise only"
    if body.get("covers") == "noise+sampling":
        said = "les barres des moyennes couvrent bruit et échantillonnage"
        said = said if french else "bars of means cover noise and sampling"
    if str(body.get("bars", "")).startswith("together"):
        said += " ; toutes ensemble" if french else "; all of them together"
    return said


_NOTES = {
    "SF009": (
        "a filter that looks at one person: safe, and mostly noise",
        "un filtre sur une personne : sûr, et surtout du bruit",
    ),
    "SF012": (
        "groups of this size are smaller than the bars at this price",
        "des groupes de cette taille sont plus petits que les barres à ce prix",
    ),
    "SF020": ("a count came out below zero: noise does that", "un compte est sorti sous zéro : c'est le bruit"),
}


def notes(codes: Sequence[str], *, french: bool) -> list[str]:
    """What is allowed and should be known; `sfumato explain` tells the rest."""
    return [f" {code} {_NOTES[code][french]} -> sfumato explain {code}" for code in codes]


def chosen_by_noise(clauses: Sequence[str], *, french: bool) -> list[str]:
    """That groups were ordered or chosen by released numbers: luck is part of what put them where they are."""
    if not clauses:
        return []
    names = ", ".join(clauses)
    only_order = list(clauses) == ["ORDER BY"]
    if french and only_order:
        return [f" {names} trie selon des nombres bruités : des voisins peuvent être dans l'ordre inverse"]
    if french:
        return [f" {names} : groupes choisis selon des nombres bruités, en moyenne plus extrêmes qu'en vérité"]
    if only_order:
        return [f" {names} sorts by noisy numbers: neighbours in the order may be the other way round"]
    return [f" {names} chose groups by noisy numbers: those shown are further out on average than they are"]


def ranks(columns: Mapping[str, Mapping[str, Any]], *, lang: str) -> list[str]:
    """What the bars of quantiles speak of."""
    said = []
    for name, each in columns.items():
        which, rows = ", ".join(each["quantiles"]), decimal(math.ceil(each["rows"]), lang=lang)
        if lang == "fr":
            which = " ; ".join(q.replace(".", ",") for q in each["quantiles"])
            own = f", plus celles de leur case de {localised(each['bin'], lang)}" if "bin" in each else ""
            said.append(f" {name}\u202f: quantiles {which} de l'échantillon, à ±{rows} lignes près{own}")
        else:
            own = f", and those of their bin of {each['bin']}" if "bin" in each else ""
            said.append(f" {name}: quantiles {which} of the sample, their ranks within ±{rows} rows{own}")
    return said


def withheld(threshold: int | None, *, french: bool) -> list[str]:
    """That private groups may be missing; how many is never said."""
    if threshold is None:
        return []
    if french:
        return [f" les groupes de peu de personnes sont tus sous le seuil de {threshold} (combien n’est pas dit)"]
    return [f" groups held by few people are withheld below the threshold {threshold} (how many is not said)"]


def missing(columns: Mapping[str, Sequence[str]], *, french: bool) -> list[str]:
    """What was done about missing values, if there could be any."""
    words = {
        "group": ("missing {}: a group", "{} manquant : un groupe"),
        "dropped": ("missing or unlisted {}: rows left out", "{} manquant ou hors liste : lignes écartées"),
        "there": ("missing {}: not measured", "{} manquant : non mesuré"),
    }
    said = [text[french].format(", ".join(columns[key])) for key, text in words.items() if columns.get(key)]
    return [f" {'; '.join(said)}"] if said else []


def html(answer: Shown, *, lang: str = "en") -> str:
    """A table for a notebook."""
    body = answer.to_json()
    header, lines = table(answer, body, answer.rows, lang=lang)
    numeric = [name in answer.measured or name == "±" for name in _names(answer)]
    cells = [
        "<tr>"
        + "".join(
            f'<td style="text-align:{"right" if right else "left"}">{markup.escape(cell)}</td>'
            for cell, right in zip(line, numeric, strict=True)
        )
        + "</tr>"
        for line in lines
    ]
    head = "".join(f'<th scope="col">{markup.escape(name)}</th>' for name in header)
    notes = "<br>".join(markup.escape(line.strip()) for line in footer(body, lang=lang))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(cells)}</tbody></table><p><small>{notes}</small></p>"


def chart(rows: Sequence[Mapping[str, Any]], *, keys: Sequence[str], measured: Sequence[str]) -> Any:
    """Points with error bars, one panel for each measured column."""
    import altair as alt

    key = keys[0] if keys else None
    panels = []
    for name in measured:
        data = [
            {
                "key": str(row[key]) if key else name,
                "value": row[name],
                "low": row[f"{name}_low"],
                "high": row[f"{name}_high"],
            }
            for row in rows
        ]
        base = alt.Chart({"values": data}).encode(y=alt.Y("key:N", sort=None, title=key or ""))
        bars = base.mark_rule(color="#0072B2", strokeWidth=2).encode(x=alt.X("low:Q", title=name), x2="high:Q")
        points = base.mark_point(filled=True, size=60, color="#0072B2").encode(x="value:Q")
        panels.append(
            (bars + points).properties(width=420, title=name, description=f"{name} with error bars, by {key}")
        )
    return alt.vconcat(*panels)


def _names(answer: Shown) -> list[str]:
    return [each for name in answer.columns for each in ((name, "±") if name in answer.measured else (name,))]


def _blocks(answer: Shown, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A bar of blocks for the only measured column of a grouped answer."""
    name = answer.measured[0] if len(answer.measured) == 1 and len(answer.columns) > 1 else None
    if name is None or any(f"{name}_ranks" in row for row in rows):
        return [""] * len(rows)
    values = [max(0.0, row[name] or 0.0) for row in rows]
    most = max(values, default=0.0)
    return ["   " + "█" * round(_BLOCKS * value / most) if most > 0 else "" for value in values]
