"""`sfumato purge`: remove every copy of personal data that sfumato made."""

from __future__ import annotations

import click

from sfumato.apps.cli import options
from sfumato.apps.cli.language import Lang, talk


@click.command()
@options.lang
def command(lang: Lang) -> None:
    """Remove every cached or clustered copy of rows. Sources, policies, ledgers and keys stay."""
    from sfumato.curator.home import Home

    removed = Home.default().purge()
    for path in removed:
        click.echo(str(path))
    talk(lang, en=f"{len(removed)} copies removed", fr=f"{len(removed)} copies supprimées")
