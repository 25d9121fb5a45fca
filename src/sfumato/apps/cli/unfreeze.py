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

    ledger = Policy.load(policy_file).ledger(Home.default())
    ledger.freeze(analyst or EVERYONE, frozen=False, reason=reason)
    still = ledger.totals().frozen
    if analyst is not None and EVERYONE in still:
        talk(
            lang,
            en=f"{analyst} is no longer frozen by name, but everyone is: `sfumato unfreeze`",
            fr=f"{analyst} n'est plus gelé en son nom, mais tout le monde l'est : `sfumato unfreeze`",
        )
        return
    talk(lang, en=f"{analyst or 'everyone'} may ask again", fr=f"dégel : {analyst or 'tout le monde'}")
    for name in still if analyst is None else ():
        talk(
            lang,
            en=f"but {name} is still frozen by name: `sfumato unfreeze {name}`",
            fr=f"mais {name} reste gelé en son nom : `sfumato unfreeze {name}`",
        )
