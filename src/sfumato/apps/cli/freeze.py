"""`sfumato freeze`: stop one analyst's questions, or everyone's."""

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
    """Refuse every question of ANALYST, or of everyone, until `sfumato unfreeze`."""
    from sfumato.curator.home import Home
    from sfumato.curator.ledger.ledger import EVERYONE
    from sfumato.curator.policy import Policy

    Policy.load(policy_file).ledger(Home.default()).freeze(analyst or EVERYONE, reason=reason)
    talk(lang, en=f"{analyst or 'everyone'} is frozen", fr=f"gel : {analyst or 'tout le monde'}")
