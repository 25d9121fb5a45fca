"""`sfumato unfreeze`: let questions go on."""

from __future__ import annotations

import click

from sfumato.apps.cli import options
from sfumato.apps.cli.language import Lang, talk


@click.command()
@click.argument("analyst", required=False)
@click.option("--reason", default="", help="written into the ledger")
@options.policy
@options.lang
def command(analyst: str | None, reason: str, policy_file: str, lang: Lang) -> None:
    """Let ANALYST ask again, or everyone who is not frozen by name."""
    from sfumato.curator.home import Home
    from sfumato.curator.ledger.ledger import EVERYONE
    from sfumato.curator.policy import Policy

    Policy.load(policy_file).ledger(Home.default()).freeze(analyst or EVERYONE, frozen=False, reason=reason)
    talk(lang, en=f"{analyst or 'everyone'} may ask again", fr=f"dégel : {analyst or 'tout le monde'}")
