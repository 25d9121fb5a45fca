"""`sfumato suggest`: buy a private estimate of what a bound would cut off."""

from __future__ import annotations

import click

from sfumato.apps.cli import options, output
from sfumato.apps.cli.language import Lang
from sfumato.apps.cli.question import session_of


@click.command()
@click.argument("what", type=click.Choice(["max_rows", "range"]))
@click.option("--table", required=True, help="the table that the bound is for")
@click.option("--column", default=None, help="with range: the column")
@click.option("--bounds", default=None, help="the bounds to compare, such as 1,5,10; a few usual ones without it")
@click.option("--epsilon", required=True, help="what the estimate may cost")
@options.policy
@options.analyst
@options.formats("table", "json", "csv")
@options.lang
def command(
    what: str,
    table: str,
    column: str | None,
    bounds: str | None,
    epsilon: str,
    policy_file: str,
    analyst: str,
    form: str,
    lang: Lang,
) -> None:
    """Estimate what share of rows (max_rows) or of a sum (range) each of several bounds would cut off.

    It is charged like any question, and asking it again is free. Shares are of what the widest bound keeps.
    """
    from sfumato.core.exact import decimal_text
    from sfumato.curator import suggest
    from sfumato.show.text import percent

    session = session_of(policy_file, analyst)
    listed = [each.strip() for each in bounds.split(",")] if bounds else []
    if what == "max_rows":
        if not all(each.isdigit() for each in listed):
            raise click.UsageError("--bounds takes whole numbers for max_rows, such as 1,5,10")
        found = suggest.max_rows(session, table, epsilon=epsilon, bounds=[int(each) for each in listed])
    else:
        if column is None:
            raise click.UsageError("a range is of a column: give --column")
        found = suggest.column_range(session, table, column, epsilon=epsilon, bounds=listed)
    if form == "json":
        answer = found.answer.to_json()
        said = {key: answer[key] for key in ("spent", "left", "answer", "confidence", "replayed")}
        output.as_json({"what": what, "bounds": [each.to_json() for each in found.kept], **said})
        return
    french = lang == "fr"
    names = ("borne", "part coupée", "entre", "et") if french else ("bound", "cut off", "between", "and")
    rows = [
        dict(
            zip(
                names,
                (
                    decimal_text(each.bound),
                    "–" if each.cut is None else percent(each.cut, lang=lang),
                    percent(each.low, lang=lang),
                    percent(each.high, lang=lang),
                ),
                strict=True,
            )
        )
        for each in found.kept
    ]
    output.records(rows, names, form=form)
    best, answer = decimal_text(found.least()), found.answer.to_json()
    sure = found.least() < found.kept[-1].bound
    spent = next(iter(answer["spent"].values()))
    if form == "table":
        click.echo(
            f" {f'{best} coupe au plus 5 %' if sure else 'aucune borne ne coupe sûrement moins de 5 % de la plus large'}"
            f" · dépensé {spent.replace('.', ',')} · réponse {answer['answer']}"
            if french
            else f" {f'{best} cuts off 5 % at most' if sure else 'no bound surely cuts off less than 5 % of the widest'}"
            f" · spent {spent} · answer {answer['answer']}"
        )
