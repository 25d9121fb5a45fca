"""`sfumato ledger`: the books, for whoever keeps them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from sfumato.apps.cli import options, output
from sfumato.apps.cli.language import Lang, talk
from sfumato.core.exact import decimal_text

if TYPE_CHECKING:
    from sfumato.curator.ledger.ledger import Ledger
    from sfumato.curator.ledger.records import Record

COLUMNS = ("n", "at", "kind", "who", "cost", "what")
_SHORT = 60


@click.group()
def command() -> None:
    """The ledger: every charge, written down before its answer existed."""


@command.command("list")
@options.policy
@options.formats("table", "json", "csv")
@options.lang
def list_(policy_file: str, form: str, lang: Lang) -> None:
    """Every record, oldest first: when, who, how much, why."""
    rows = [_row(record) for record in _ledger(policy_file).history()]
    output.records(rows, COLUMNS, form=form)


@command.command()
@options.policy
@options.formats("table", "json")
@options.lang
def verify(policy_file: str, form: str, lang: Lang) -> None:
    """Check the whole chain from its first record, its signature, and the last head that was seen here."""
    ledger = _ledger(policy_file)
    position = ledger.verify()
    if form == "json":
        output.as_json({"verified": True, "records": position.n, "head": position.digest})
        return
    click.echo(
        f"vérifié : {position.n} inscriptions, tête {position.digest}"
        if lang == "fr"
        else f"verified: {position.n} records, head {position.digest}"
    )


@command.command()
@options.policy
def export(policy_file: str) -> None:
    """Print every record as one line of canonical JSON: what an auditor keeps."""
    from sfumato.core.canonical import canonical

    for record in _ledger(policy_file).history():
        body = {"n": record.n, "kind": record.kind.value, "body": record.body, "previous": record.previous}
        click.echo(canonical({**body, "digest": record.digest}))


@command.command()
@click.argument("file", type=click.Path(dir_okay=False))
@options.policy
@options.lang
def backup(file: str, policy_file: str, lang: Lang) -> None:
    """Copy the ledger to FILE, verified and whole, even while others write.

    Putting an old copy back is noticed, because the last head seen is further on: it stops spending.
    """
    _ledger(policy_file).backup(file)
    talk(lang, en=f"the ledger is copied to {file}", fr=f"le registre est copié dans {file}")


def _ledger(policy_file: str) -> Ledger:
    from sfumato.curator.home import Home
    from sfumato.curator.policy import Policy

    return Policy.load(policy_file).ledger(Home.default())


def _row(record: Record) -> dict[str, str]:
    body = record.body
    return {
        "n": str(record.n),
        "at": str(body.get("at", "")),
        "kind": record.kind.value,
        "who": str(body.get("analyst", "")),
        "cost": _cost(body),
        "what": " ".join(_what(body)),
    }


def _cost(body: Mapping[str, Any]) -> str:
    if "total" not in body:
        return ""
    total, book = (Fraction(body[name]["amount"]) for name in ("total", "book"))
    replay = f" (own book {decimal_text(book)})" if book != total else ""
    return decimal_text(total) + replay


def _what(body: Mapping[str, Any]) -> Iterator[str]:
    for name in ("version", "text", "reason", "frozen", "key"):
        if name in body and body[name] != "":
            text = json.dumps(body[name], ensure_ascii=False) if not isinstance(body[name], str) else body[name]
            yield f"{name}: {text[:_SHORT]}"
    if "caps" in body:
        yield f"cap: {decimal_text(Fraction(body['caps']['total']['amount']), rounding='down')}"
    for name, value in body.get("what", {}).items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if len(text) <= _SHORT:  # the rest is for `export`
            yield f"{name}: {text}"
