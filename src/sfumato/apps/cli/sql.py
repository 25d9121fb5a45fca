"""`sfumato sql`: a prompt for questions. A price is agreed once and shown before every charge."""

from __future__ import annotations

import sys
from typing import Any

import click

from sfumato.apps.cli import options
from sfumato.apps.cli.language import Lang, talk
from sfumato.apps.cli.question import price, session_of, show_answers, show_previews
from sfumato.core.errors import SfumatoError


@click.command()
@price
@options.policy
@options.server
@options.analyst
@options.lang
def command(policy_file: str, server: str | None, analyst: str, lang: Lang, **terms: Any) -> None:
    """Type questions; each is previewed, and asked when you say yes. `exit` ends it."""
    session = session_of(policy_file, analyst, server)
    talk(
        lang,
        en="questions end with a semicolon; exit ends",
        fr="une question finit par un point-virgule ; exit termine",
    )
    for question in _questions():
        try:
            preview = session.preview(question, **terms)
            show_previews([preview], session, "table", lang)
            if not sys.stdin.isatty() or click.confirm("ask?" if lang == "en" else "poser ?", default=False, err=True):
                show_answers([session.ask(preview)], "table", lang)
        except SfumatoError as error:
            click.echo(str(error), err=True)


def _questions() -> Any:
    """Statements from the terminal, or from a pipe."""
    buffer = ""
    while True:
        if sys.stdin.isatty():
            click.echo("sfumato> " if not buffer else "    ...> ", nl=False, err=True)
        line = sys.stdin.readline()
        if not line or line.strip().lower() in {"exit", "quit", r"\q"}:
            if buffer.strip():
                yield buffer.strip()
            return
        buffer += line
        if line.rstrip().endswith(";"):
            yield buffer.strip().rstrip(";")
            buffer = ""
