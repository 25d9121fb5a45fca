"""`sfumato budget`: what was spent and what is left, of the data set and of each analyst."""

from __future__ import annotations

import datetime
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from sfumato.apps.cli import options, output
from sfumato.apps.cli.language import Lang, talk
from sfumato.core.exact import decimal_text

if TYPE_CHECKING:
    from sfumato.curator.ledger.records import Caps, Charge, Totals


@click.group(invoke_without_command=True)
@options.policy
@options.server
@click.option(
    "--as", "analyst", default=None, help="only this analyst's budget; without it, the data set's and everyone's"
)
@options.formats("table", "json", "csv")
@options.lang
@click.pass_context
def command(
    context: click.Context, policy_file: str, server: str | None, analyst: str | None, form: str, lang: Lang
) -> None:
    """What was spent and what is left. Amounts that were spent are rounded up, what is left is rounded down."""
    if context.invoked_subcommand is not None:
        return
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


@command.command("forecast")
@click.argument("question", required=False)
@click.option(
    "--until", type=click.DateTime(["%Y-%m-%d"]), required=True, help="the last day that questions are asked on"
)
@click.option(
    "--every",
    type=click.Choice(["week", "month", "quarter", "year"]),
    default="month",
    show_default=True,
    help="how often",
)
@click.option("--questions", type=int, default=1, show_default=True, help="how many are asked each time")
@click.option("--epsilon", default=None, help="say when questions at this price find too little left")
@options.policy
@options.analyst
@options.formats("table", "json")
@options.lang
def forecast(
    question: str | None,
    until: datetime.datetime,
    every: Any,
    questions: int,
    epsilon: str | None,
    policy_file: str,
    analyst: str,
    form: str,
    lang: Lang,
) -> None:
    """What a question may cost if it is asked every month until a day; with QUESTION, how wide its bars would be. Free."""
    from sfumato.core.exact import positive
    from sfumato.curator.forecast import forecast as forecasts
    from sfumato.curator.home import Home
    from sfumato.curator.policy import Policy
    from sfumato.curator.terms import budget_of, terms_of

    policy = Policy.load(policy_file)
    left = policy.ledger(Home.default()).left(analyst)
    price = None if epsilon is None else positive(epsilon, name="epsilon")
    found = forecasts(
        left.analyst,
        budget_of(policy),
        today=datetime.date.today(),
        until=until.date(),
        every=every,
        price=price,
        each=questions,
    )
    widths: dict[str, float] = {}
    if question is not None:
        from sfumato.queries.sql.parse import parse

        terms = terms_of(policy)
        widths = terms.preview(parse(question, terms.schema), epsilon=price or found.epsilon).within()
    unit = left.caps.unit
    each = decimal_text(found.each, rounding="down")
    if form == "json":
        output.as_json(
            {
                "times": found.times,
                "each": {unit: each},
                "epsilon": decimal_text(found.epsilon, rounding="down"),
                "runs_out": None if found.runs_out is None else found.runs_out.isoformat(),
                "within": widths,
            }
        )
        return
    sign = "ε" if unit == "epsilon" else "ρ"
    day = until.date().isoformat()
    price_of_one = (
        f"{sign} {each}" if sign == "ε" else f"{sign} {each} (ε {decimal_text(found.epsilon, rounding='down')})"
    )
    if lang == "fr":
        click.echo(f" {found.times} questions jusqu'au {day}, chacune à {price_of_one} au plus".replace(".", ","))
    else:
        click.echo(f" {found.times} questions until {day}, each at {price_of_one} at most")
    if price is not None:
        ends = None if found.runs_out is None else found.runs_out.isoformat()
        english = f"at ε {epsilon} " + (f"the budget runs out on {ends}" if ends else f"the budget lasts until {day}")
        french = f"à ε {epsilon} ".replace(".", ",") + (
            f"le budget est épuisé le {ends}" if ends else f"le budget dure jusqu'au {day}"
        )
        click.echo(f" {french if lang == 'fr' else english}")
    for name, width in widths.items():
        click.echo(f" {name} ±{width:.4g}")


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
