"""`sfumato refine`: pay more for a question that was answered, and pool the new noise with the old."""

from __future__ import annotations

import click

from sfumato.apps.cli import options
from sfumato.apps.cli.language import Lang
from sfumato.apps.cli.question import at, session_of, show_answers, workload


@click.command()
@click.argument("question")
@click.option("--paid", required=True, help="the epsilon that the first answer was asked at")
@click.option("--epsilon", required=True, help="what to pay on top of it")
@workload
@at
@options.policy
@options.server
@options.analyst
@options.formats("table", "json", "csv", "parquet")
@options.lang
def command(
    question: str,
    paid: str,
    epsilon: str,
    workload: str,
    at: int,
    policy_file: str,
    server: str | None,
    analyst: str,
    form: str,
    lang: Lang,
) -> None:
    """A better answer to QUESTION, which was asked before at --paid, in the same words.

    Refused, charging nothing, when it was not: nobody means to buy two answers here.

    Counts, sums, the parts of means and histograms of one strategy are pooled; quantiles are asked again.
    """
    session = session_of(policy_file, analyst, server)
    first = session.again(question, epsilon=paid, workload=workload, at=at)
    show_answers([session.refine(first, epsilon=epsilon)], form, lang)
