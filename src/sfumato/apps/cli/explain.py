"""`sfumato explain SF005`: the long story of a message."""

from __future__ import annotations

import textwrap

import click

from sfumato.apps.cli import options, output
from sfumato.apps.cli.language import Lang
from sfumato.core.errors import BadInput


@click.command()
@click.argument("code", required=False)
@options.formats("table", "json")
@options.lang
def command(code: str | None, form: str, lang: Lang) -> None:
    """What happened, why it protects someone, and what to do. Without CODE, the list of all."""
    from sfumato.apps.cli.stories import stories

    told = stories(lang)
    if code is None:
        output.records(
            [{"code": key, "title": story.title} for key, story in told.items()], ("code", "title"), form=form
        )
        return
    found = told.get(code.upper())
    if found is None:
        raise BadInput(
            f"there is no message {code[:20]!r}", hint="the messages are SF001 to SF022; `sfumato explain` lists them"
        )
    if form == "json":
        output.as_json({"code": code.upper(), "title": found.title, "why": found.why, "do": found.do})
        return
    click.echo(f"{code.upper()} {found.title}\n")
    click.echo(textwrap.fill(found.why, 90) + "\n")
    click.echo(textwrap.fill(f"-> {found.do}", 90, subsequent_indent="   "))
