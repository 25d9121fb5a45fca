"""`sfumato which`: the mechanisms that keep a promise, by the error that they make."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sfumato.apps.cli import options, output
from sfumato.core.errors import BadInput

if TYPE_CHECKING:
    from sfumato.mechanisms.which import Question

COLUMNS = ("mechanism", "within", "never above", "parameters", "why not")


@click.command()
@click.argument("question", type=click.Choice(["scalar", "queries", "choice", "stream", "running"]))
@click.argument("count", type=click.IntRange(min=1), required=False)
@click.option("--epsilon", required=True, help="such as 1 or 0.5")
@click.option("--delta", default="0", show_default=True, help="such as 1e-6")
@click.option("--sensitivity", default="1", show_default=True, help="how far one unit moves each number or score")
@click.option(
    "--neighbours",
    type=click.Choice(["add-remove", "replace"]),
    default="add-remove",
    show_default=True,
    help="one unit comes or goes, or is replaced by another",
)
@click.option("--confidence", default="0.95", show_default=True, help="with which errors stay within what is printed")
@click.option("--chosen", type=int, default=1, show_default=True, help="of a choice: how many candidates are named")
@click.option("--monotone", is_flag=True, help="of a choice: scores such as counts, which all move the same way")
@click.option("--positives", type=int, default=1, show_default=True, help="of a stream: how many may be above")
@options.formats("table", "json", "csv")
def command(
    question: str,
    count: int | None,
    epsilon: str,
    delta: str,
    sensitivity: str,
    neighbours: str,
    confidence: str,
    chosen: int,
    monotone: bool,
    positives: int,
    form: str,
) -> None:
    """Which mechanism for a scalar, COUNT queries, a choice among COUNT candidates, a stream of COUNT numbers, or its sums."""
    from sfumato.core.neighbours import Neighbours, Relation
    from sfumato.mechanisms.which import which

    advice = which(
        _asked(question, count, chosen, monotone, positives),
        epsilon=epsilon,
        delta=delta,
        sensitivity=sensitivity,
        neighbours=Neighbours(Relation(neighbours)),
        confidence=confidence,
    )
    rows = [
        {
            "mechanism": each.name,
            "within": f"{each.within:.6g}",
            "never above": "" if each.limit is None else f"{each.limit:.6g}",
            "parameters": each.parameters,
            "why not": "",
        }
        for each in advice.options
    ]
    rows += [{**dict.fromkeys(COLUMNS, ""), "mechanism": name, "why not": why} for name, why in advice.refused]
    output.records(rows, COLUMNS, form=form)
    click.echo(advice.why, err=True)


def _asked(question: str, count: int | None, chosen: int, monotone: bool, positives: int) -> Question:
    from sfumato.mechanisms.which import Choice, Queries, Running, Scalar, Stream

    if question == "scalar":
        return Scalar()
    if count is None:
        raise BadInput(
            f"the {question} came without a number", hint=f"say how many, such as: sfumato which {question} 100"
        )
    match question:
        case "queries":
            return Queries(count)
        case "choice":
            return Choice(count, chosen, monotone)
        case "running":
            return Running(count)
        case _:
            return Stream(count, positives)
