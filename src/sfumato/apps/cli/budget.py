"""`sfumato budget`: what was spent and what is left, of the data set and of each analyst."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from sfumato.apps.cli import options, output
from sfumato.apps.cli.language import Lang, talk
from sfumato.core.exact import decimal_text

if TYPE_CHECKING:
    from sfumato.curator.ledger.records import Caps, Charge, Totals


@click.command()
@options.policy
@options.server
@click.option(
    "--as", "analyst", default=None, help="only this analyst's budget; without it, the data set's and everyone's"
)
@options.formats("table", "json", "csv")
@options.lang
def command(policy_file: str, server: str | None, analyst: str | None, form: str, lang: Lang) -> None:
    """What was spent and what is left. Amounts that were spent are rounded up, what is left is rounded down."""
    if server is not None:
        _own(server, form, lang)
        return
    from sfumato.curator.home import Home
    from sfumato.curator.policy import Policy

    policy = Policy.load(policy_file)
    totals = policy.ledger(Home.default()).totals()
    if totals.policy != policy.digest:
        talk(
            lang,
            en="the policy has changed since the ledger last saw it; these are the caps of the ledger",
            fr="la politique a changé depuis que le registre l'a vue ; voici les plafonds du registre",
        )
    names = [analyst] if analyst else sorted({*totals.books, *totals.caps.analysts} - {"default"} | {options.user()})
    analysts = {name: _account(totals, name) for name in names}
    whole = _account(totals, None)
    if form == "json":
        chosen = analysts[analyst] if analyst else whole
        rest = {"dataset": whole} if analyst else {"analysts": analysts}
        said = {"unprotected": list(totals.unprotected)}
        output.as_json({"accountant": totals.caps.accountant, "analyst": analyst, **chosen, **rest, **said})
        return
    words = _words(form, lang)
    rows = [_row("data set" if lang == "en" else "données", whole, words)]
    rows += [_row(name, account, words) for name, account in analysts.items()]
    output.records(rows, list(rows[0]), form=form)
    for text in totals.unprotected:
        talk(
            lang,
            en=f"released about the same people without protection, outside of this budget: {text}",
            fr=f"publié sans protection sur les mêmes personnes, hors de ce budget : {text}",
        )


def _own(server: str, form: str, lang: Lang) -> None:
    """The book of whoever's token is in the environment: a server tells nobody what others have spent."""
    from sfumato.apps.cli.question import remote
    from sfumato.curator.ledger.records import Totals

    session = remote(server)
    left = session.left()
    mine = _account(Totals(left.caps, "", left.book, {session.analyst: left.book}), session.analyst)
    if form == "json":
        output.as_json({"accountant": left.caps.accountant, "analyst": session.analyst, **mine})
        return
    row = _row(session.analyst, mine, _words(form, lang))
    output.records([row], list(row), form=form)


def _account(totals: Totals, analyst: str | None) -> dict[str, Any]:
    caps = totals.caps
    cap = caps.total if analyst is None else caps.of(analyst)
    spent = totals.spent if analyst is None else totals.book(analyst)
    left_of_all = _minus(caps.total, totals.spent)
    own = _minus(cap, spent)
    left = (min(own[0], left_of_all[0]), min(own[1], left_of_all[1]))
    account: dict[str, Any] = {
        "spent": _amounts(caps, spent.amount, spent.failure, "up"),
        "left": _amounts(caps, *left, "down"),
        "cap": _amounts(caps, cap.amount, cap.failure, "down"),
    }
    if caps.accountant == "zcdp" and cap.amount:
        account["spent"]["percent"] = str(math.ceil(1000 * spent.amount / cap.amount) / 10)
        account["left"]["percent"] = str(math.floor(1000 * left[0] / cap.amount) / 10)
    return account


def _minus(cap: Charge, spent: Charge) -> tuple[Fraction, Fraction]:
    return max(cap.amount - spent.amount, Fraction(0)), max(cap.failure - spent.failure, Fraction(0))


def _amounts(caps: Caps, amount: Fraction, failure: Fraction, rounding: Any) -> dict[str, str]:
    return {
        caps.unit: decimal_text(amount, rounding=rounding),
        "delta": decimal_text(failure, rounding=rounding),
    }


_FRENCH = {"spent": "dépensé", "left": "reste", "cap": "plafond", "percent": "%"}


def _words(form: str, lang: Lang) -> dict[str, str]:
    return _FRENCH if lang == "fr" and form == "table" else {}


def _row(name: str, account: dict[str, Any], words: dict[str, str]) -> dict[str, str]:
    """One account on one line; with `words`, as French people read it."""
    every = [(word, unit, text) for word, amounts in account.items() for unit, text in amounts.items()]
    deltas = [each for each in every if each[1] == "delta" and each[0] != "cap"]
    row = {"": name}
    for word, unit, text in (*(each for each in every if each[1] != "delta"), *deltas):
        row[f"{words.get(word, word)} {words.get(unit, unit)}"] = text.replace(".", ",") if words else text
    return row
