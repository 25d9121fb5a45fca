"""`sfumato key`: the key that this home signs releases with."""

from __future__ import annotations

import click

from sfumato.apps.cli import options, output
from sfumato.apps.cli.language import Lang, talk
from sfumato.core.errors import BadInput


@click.group()
def command() -> None:
    """The key that releases are signed with. Its private half never leaves the sfumato home."""


@command.command()
@options.formats("table", "json")
@options.lang
def show(form: str, lang: Lang) -> None:
    """Print the fingerprint and the public key: what readers of a release compare its certificate with."""
    from sfumato.curator.certificate.signing import Signer
    from sfumato.curator.home import Home

    home = Home.default()
    if not home.signing_file.exists():
        raise BadInput(
            "this home has no key to sign releases with yet",
            hint="the first release makes one; or set SFUMATO_HOME to the home that has it",
        )
    signer = Signer.of(home)
    if form == "json":
        output.as_json(signer.described())
        return
    click.echo(signer.fingerprint)
    click.echo(signer.public.hex())
    talk(
        lang,
        en=f"the private key is in {home.signing_file}, for nobody else's eyes: back it up",
        fr=f"la clé privée est dans {home.signing_file}, pour personne d’autre\u202f: sauvegardez-la",
    )
