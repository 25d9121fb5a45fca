"""`sfumato ask`: charge a question, compute it, print the answer with its bars."""

from __future__ import annotations

from typing import Any

import click

from sfumato.apps.cli import options
from sfumato.apps.cli.language import Lang, talk
from sfumato.apps.cli.progress import waiting
from sfumato.apps.cli.question import previews_of, price, session_of, show_answers


@click.command()
@click.argument("question")
@price
@options.policy
@options.server
@options.analyst
@options.formats("table", "json", "csv", "parquet")
@options.lang
def command(
    question: str, policy_file: str, server: str | None, analyst: str, form: str, lang: Lang, **terms: Any
) -> None:
    """Answer QUESTION (SQL text, or a .sql file of several: all or none), and charge it to your budget."""
    session = session_of(policy_file, analyst, server)
    previews = previews_of(session, question, terms)
    with waiting("…"):
        answers = session.ask_all(previews)
    show_answers(answers, form, lang)
    if any(answer.replayed for answer in answers):
        talk(
            lang,
            en="SF008 already answered: this is the same answer again, for free -> `sfumato refine` buys a better one",
            fr="SF008 déjà répondu : c'est la même réponse, gratuite -> `sfumato refine` en achète une meilleure",
        )
