"""`sfumato token`: who may ask the server, in which role, about what, until when."""

from __future__ import annotations

import re

import click

from sfumato.apps.cli import options, output
from sfumato.apps.cli.language import Lang, talk
from sfumato.core.errors import BadInput

COLUMNS = ("id", "name", "role", "datasets", "created", "expires", "state")


@click.group()
def command() -> None:
    """Tokens for the server. Only a hash of each is kept, in the sfumato home."""


@command.command()
@click.argument("name")
@click.option("--role", type=click.Choice(["analyst", "owner", "auditor"]), default="analyst", show_default=True)
@click.option("--datasets", required=True, help="ids or names, separated by commas; * for all of the server")
@click.option("--expires", default="90d", show_default=True, help="how long it is good, in days")
@options.lang
def create(name: str, role: str, datasets: str, expires: str, lang: Lang) -> None:
    """Make a token for NAME, and print it: this is the only time that it is seen.

    NAME is whose budget an analyst's token spends.
    """
    from sfumato.curator.door.tokens import Role, Tokens
    from sfumato.curator.home import Home

    said = re.fullmatch(r"([0-9]{1,5})d?", expires)
    if said is None:
        raise BadInput("a token is good for a number of days", hint="write --expires 90d")
    made, text = Tokens(Home.default()).create(name, role=Role(role), datasets=datasets.split(","), days=int(said[1]))
    click.echo(text)
    talk(
        lang,
        en=f"token {made.id} of {made.name} ({made.role}) is good until {made.expires[:10]}; keep it like a password",
        fr=f"le jeton {made.id} de {made.name} ({made.role}) est valable jusqu'au {made.expires[:10]} ; à garder comme "
        "un mot de passe",
    )


@command.command("list")
@options.formats("table", "json", "csv")
def list_(form: str) -> None:
    """Every token that was made: whose, for what, until when. The tokens themselves are not kept."""
    from datetime import UTC, datetime

    from sfumato.curator.door.tokens import Tokens
    from sfumato.curator.home import Home

    now = datetime.now(UTC)
    rows = [
        {
            "id": each.id,
            "name": each.name,
            "role": each.role.value,
            "datasets": ",".join(each.datasets),
            "created": each.created[:10],
            "expires": each.expires[:10],
            "state": "revoked" if each.revoked else "good" if each.valid(now) else "expired",
        }
        for each in Tokens(Home.default()).list()
    ]
    output.records(rows, COLUMNS, form=form)


@command.command()
@click.argument("name")
@options.lang
def revoke(name: str, lang: Lang) -> None:
    """End the token with the id NAME, or every token of NAME. Servers that run see it at once."""
    from sfumato.curator.door.tokens import Tokens
    from sfumato.curator.home import Home

    ended = Tokens(Home.default()).revoke(name)
    ids = ", ".join(each.id for each in ended)
    talk(lang, en=f"revoked: {ids}", fr=f"révoqué : {ids}")
