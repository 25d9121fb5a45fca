"""A certificate as people read it: text, a page in HTML, and the page that a data protection officer needs."""

from __future__ import annotations

import html as markup
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sfumato.show.certificate_words import WORDS
from sfumato.show.text import labelled, localised

Section = tuple[str, list[tuple[str, str]]]
Body = Mapping[str, Any]

_STYLE = (
    "body{font:16px/1.5 Georgia,'DejaVu Serif',serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a}"
    "h1{font-weight:normal;margin-bottom:0}"
    "h2{font-weight:normal;font-size:1.15rem;border-bottom:1px solid #ccc;margin-top:2rem}"
    "dl{display:grid;grid-template-columns:11rem 1fr;gap:.25rem 1rem}dt{color:#555}dd{margin:0;overflow-wrap:anywhere}"
    ".odds{font-size:1.15rem;border-left:4px solid #0072B2;padding-left:1rem}"
    "@media(max-width:40rem){dl{grid-template-columns:1fr}}"
)


def text(body: Body, *, lang: str = "en") -> str:
    """For a terminal."""
    said = [_title(body, lang), "", labelled([("", body["guarantee"]["odds"][lang])])]
    for title, lines in sections(body, lang):
        said += ["", title, labelled(lines)]
    return "\n".join(said)


def html(body: Body, *, lang: str = "en") -> str:
    """One file without script or network."""
    parts = [
        f"<h1>{_safe(_title(body, lang))}</h1>",
        f'<p class="odds">{_safe(body["guarantee"]["odds"][lang])}</p>',
        *(_described(title, lines) for title, lines in sections(body, lang)),
        f"<p><small>{_safe(WORDS[lang]['signed'])}</small></p>",
    ]
    return _page(_title(body, lang), parts, lang)


def aipd(body: Body, *, lang: str = "fr") -> str:
    """The page of an impact assessment: who is protected, the odds, singling out, linking, inference, limits."""
    words, said = WORDS[lang], WORDS[lang]["aipd"]
    guarantee, protects = body["guarantee"], body["protects"]
    facts = {
        "guess": _percent(guarantee["odds"]["guess"], lang),
        "belief": _percent(guarantee["odds"]["belief_of_one_percent"], lang),
        "unit": words["unit"][protects["unit"]],
        "rows": protects["max_rows"],
        "epsilon": localised(guarantee["epsilon"], lang),
        "delta": localised(guarantee["delta"], lang),
        "whole": localised(body["ledger"]["promise"]["epsilon"], lang),
    }
    paragraphs = [(title, [text.format(**facts)]) for title, text in said["criteria"]]
    paragraphs.append((said["also"], [*_public(body, lang)]))
    paragraphs.append((said["limits"], list(body["limits"][lang])))
    head = "\n".join(
        [
            f"# {said['title']}\n",
            f"{body['release']['title']}, {body['release']['edition']} — {body['id']}, {body['issued'][:10]}",
            f"{words['dataset']}{words['colon']}{body['dataset']['name']} ({body['dataset']['version']})",
            f"{words['issuer']}{words['colon']}{_issuer(body)}",
        ]
    )
    written = [f"## {title}\n\n" + "\n\n".join(texts) for title, texts in paragraphs]
    signer = f"{words['signer']}{words['colon']}{body['signer']['fingerprint']}"
    return "\n\n".join([head, *written, signer])


def sections(body: Body, lang: str) -> Iterator[Section]:
    """Everything the certificate says, under titles."""
    words = WORDS[lang]
    release, guarantee, ledger = body["release"], body["guarantee"], body["ledger"]
    unit = ledger["unit"]
    heading = [
        (words["id"], f"{body['id']}, {body['issued']}"),
        (words["issuer"], _issuer(body)),
        (words["dataset"], f"{body['dataset']['name']} ({body['dataset']['id']}), {body['dataset']['version']}"),
        (words["policy"], body["dataset"]["policy"]),
        (words["product"], f"{body['product']['name']} {body['product']['version']}"),
    ]
    if release["supersedes"]:
        other = release["supersedes"]
        heading.append((words["supersedes"], f"{other['edition']} ({other['id']}){words['colon']}{other['reason']}"))
    yield words["what"], heading
    protects = body["protects"]
    bound = words["fact"] if protects["max_rows_is_fact"] else words["bound"]
    yield (
        words["guarantee"],
        [
            (words["protects"], words["unit"][protects["unit"]]),
            (words["rows"], f"{protects['max_rows']} ({bound})"),
            (words["neighbours"], words[protects["neighbours"]]),
            (words["variant"], words["variants"][guarantee["variant"]]),
            ("ε", localised(guarantee["epsilon"], lang)),
            ("δ", localised(guarantee["delta"], lang)),
            (words["accounting"], words["accountings"][guarantee["accounting"]]),
            (words["row_count"], words["counts"]["private" if body["rows"]["count"] == "private" else "public"]),
        ],
    )
    yield (
        words["ledger"],
        [
            (words["accountant"], ledger["accountant"]),
            (words["charged"], _amount(guarantee["charged"], unit, lang)),
            (words["spent"].format(since=ledger["since"][:10]), _amount(ledger["spent"], unit, lang)),
            (words["cap"], _amount(ledger["cap"], unit, lang)),
            (words["position"], f"{ledger['position']['n']}, {ledger['position']['digest']}"),
            (words["head"], f"{ledger['head']['n']}, {ledger['head']['digest']}"),
        ],
    )
    for product in body["products"]:
        yield f"{words['product_of']}{words['colon']}{product['name']}", list(_product(product, lang))
    yield words["proofs"], list(_proofs(body))
    yield words["precision"], [(words["covers"], body["covers"][lang]), (words["bias"], body["bias"][lang])]
    yield words["also"], [("", said) for said in _public(body, lang)]
    audit = body["audit"]
    yield words["audit"], [("", audit["says"]), *([(words["digest"], audit["digest"])] if audit["digest"] else [])]
    if body.get("files"):
        yield words["files"], [(each["name"], each["sha256"]) for each in body["files"]]
    yield words["limits"], [("", said) for said in body["limits"][lang]]
    if "signer" in body:
        signer = body["signer"]
        yield words["signature"], [(signer["algorithm"], signer["fingerprint"])]


def _product(product: Body, lang: str) -> Iterator[tuple[str, str]]:
    """What is said of a product; texts of products that are no questions are shown as they are."""
    words = WORDS[lang]
    yield words["kind"], words["kinds"].get(product["kind"], product["kind"])
    yield "ε", localised(str(product["epsilon"]), lang)
    for name, value in product.items():
        if isinstance(value, str) and name not in {"name", "kind", "epsilon"}:
            yield words["about"].get(name, name), value
    for each in product.get("noise", []):
        yield from _noise(each, lang)
    for table in product.get("tables", []):
        yield words["table"], table["table"]
        yield words["counted"], table["counted"]
        for key in table["keys"]:
            null = words["with_missing"] if key["null"] else ""
            said = words["listed"] if key["keys"] == "public" else words["told"]
            count = key["values"] if key["keys"] == "public" else key["threshold"]
            yield words["keys"], said.format(of=", ".join(key["of"]), count=count) + null
        for clip in table["clipping"]:
            yield words["clipped"], localised(f"{', '.join(clip['of'])}: {clip['low']} … {clip['high']}", lang)
        for each in table["noise"]:
            yield from _noise(each, lang)
        for each in table["accuracy"]:
            same = each["least"] == each["most"]
            wide = f"±{each['most']}" if same else f"±{each['least']} … ±{each['most']}"
            sure = _percent(each["confidence"], lang)
            yield words["accuracy"], localised(f"{each['column']} {wide} ({sure}{words['percent']})", lang)
        for name, each in table["ranks"].items():
            levels = ", ".join(each["quantiles"])
            yield words["accuracy"], localised(words["ranks"].format(name=name, levels=levels, rows=each["rows"]), lang)


def _noise(noise: Body, lang: str) -> Iterator[tuple[str, str]]:
    words = WORDS[lang]
    parameters = ", ".join(f"{name} {value}" for name, value in noise["parameters"].items() if value != "None")
    reach = noise["sensitivity"]
    yield words["mechanism"], f"{noise['mechanism']} ({parameters}), {noise['granularity']}"
    yield words["sensitivity"], f"L1 {reach['l1']}, L∞ {reach['linf']}, L2² {reach['l2_squared']}"


def _proofs(body: Body) -> Iterator[tuple[str, str]]:
    """Each mechanism's law and proof, once: what its class says of itself."""
    every = [each for product in body["products"] for each in _noises(product)]
    for name, (law, proof) in {each["mechanism"]: (each["law"], each["proof"]) for each in every}.items():
        yield name, f"{law} {proof}"


def _noises(product: Body) -> list[Body]:
    return [*product.get("noise", []), *(each for table in product.get("tables", []) for each in table["noise"])]


def _public(body: Body, lang: str) -> Iterator[str]:
    words, also = WORDS[lang], body["also_public"]
    for said in also["unprotected"]:
        yield f"{words['unprotected']}{words['colon']}{said}"
    for said in also["declared"]:
        yield f"{words['declared']}{words['colon']}{said}"
    if body["rows"]["declared"]:
        yield words["declared_size"].format(size=body["rows"]["declared"])
    if not also["unprotected"]:
        yield words["nothing_unprotected"]


def _title(body: Body, lang: str) -> str:
    release = body["release"]
    return f"{WORDS[lang]['certificate']}{WORDS[lang]['colon']}{release['title']}, {release['edition']}"


def _issuer(body: Body) -> str:
    issuer = body["issuer"]
    contact = issuer["contact"]
    return f"{issuer['name']} ({contact})" if contact and contact != issuer["name"] else str(issuer["name"])


def _amount(amounts: Body, unit: str, lang: str) -> str:
    delta = "" if amounts["delta"] == "0" else f", δ {amounts['delta']}"
    return localised(f"{'ε' if unit == 'epsilon' else 'ρ'} {amounts[unit]}{delta}", lang)


def _percent(part: str, lang: str) -> str:
    return localised(f"{100 * float(part):.4g}", lang)


def _described(title: str, lines: Sequence[tuple[str, str]]) -> str:
    if all(not name for name, _ in lines):
        return f"<h2>{_safe(title)}</h2>" + "".join(f"<p>{_safe(said)}</p>" for _, said in lines)
    inner = "".join(f"<dt>{_safe(name)}</dt><dd>{_safe(said)}</dd>" for name, said in lines)
    return f"<h2>{_safe(title)}</h2><dl>{inner}</dl>"


def _page(title: str, parts: Sequence[str], lang: str) -> str:
    return (
        f'<!DOCTYPE html>\n<html lang="{lang}"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{_safe(title)}</title>'
        f"<style>{_STYLE}</style></head><body>\n" + "\n".join(parts) + "\n</body></html>\n"
    )


def _safe(said: str) -> str:
    return markup.escape(said)
