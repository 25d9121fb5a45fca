"""`sfumato refine`: pay more for a question that was answered, and pool the new noise with the old."""

from __future__ import annotations

import click

from sfumato.apps.cli import options
from sfumato.apps.cli.language import Lang
from sfumato.apps.cli.question import session_of, show_answers


@click.command()
@click.argument("question")
@click.option("--paid", required=True, help="the epsilon that the first answer was asked at")
@click.option("--epsilon", required=True, help="what to pay on top of it")
@options.policy
@options.server
@options.analyst
@options.formats("table", "json", "csv", "parquet")
@options.lang
def command(
    question: str, paid: str, epsilon: str, policy_file: str, server: str | None, analyst: str, form: str, lang: Lang
) -> None:
    """A better answer to QUESTION, which was asked before at --paid; counts, sums and the parts of means are pooled."""
    session = session_of(policy_file, analyst, server)
    first = session.ask(question, epsilon=paid)
    show_answers([session.refine(first, epsilon=epsilon)], form, lang)
