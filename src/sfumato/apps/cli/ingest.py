"""`sfumato ingest`: put the rows of each unit side by side, so that questions cost less."""

from __future__ import annotations

import click

from sfumato.apps.cli import options
from sfumato.apps.cli.language import Lang, talk


@click.command()
@click.argument("tables", nargs=-1)
@options.policy
@options.lang
def command(tables: tuple[str, ...], policy_file: str, lang: Lang) -> None:
    """Copy TABLES (all that gain from it, by default) into the sfumato home, clustered by unit.

    Answers, prices and keys stay what they are; questions over whole tables take a fraction of the time. The copy belongs
    to the declared version: rows that change in the source are seen after `sfumato version` and another ingest. It holds
    personal data: `sfumato doctor` lists it, `sfumato purge` removes it.
    """
    from sfumato.apps.cli.progress import waiting
    from sfumato.curator.home import Home
    from sfumato.curator.ingest import Copies
    from sfumato.curator.policy import Policy

    policy = Policy.load(policy_file)
    copies = Copies(policy, Home.default())
    known = policy.sources()
    chosen = tables or tuple(name for name, source in known.items() if source.unit is not None and source.location)
    for name in chosen:
        with waiting(name):
            file = copies.ingest(name)
        talk(lang, en=f"{name}: copied to {file}", fr=f"{name} : copiée dans {file}")
    if not chosen:
        talk(lang, en="no table here gains from a copy", fr="aucune table ne gagne à être copiée ici")
