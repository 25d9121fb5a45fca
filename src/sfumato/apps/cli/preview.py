"""`sfumato preview`: what a question would cost and how precise it would be. Free."""

from __future__ import annotations

from typing import Any

import click

from sfumato.apps.cli import options
from sfumato.apps.cli.language import Lang
from sfumato.apps.cli.question import previews_of, price, session_of, show_previews


@click.command()
@click.argument("question")
@price
@options.policy
@options.server
@options.analyst
@options.formats("table", "json")
@options.lang
def command(
    question: str, policy_file: str, server: str | None, analyst: str, form: str, lang: Lang, **terms: Any
) -> None:
    """What QUESTION (SQL text, or a .sql file of several) costs, and how wide its bars are. Nothing is read or charged."""
    session = session_of(policy_file, analyst, server)
    show_previews(previews_of(session, question, terms), session, form, lang)
