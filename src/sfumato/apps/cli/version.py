"""`sfumato version NAME`: the owner says that the rows are new."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from sfumato.apps.cli import options
from sfumato.apps.cli.language import Lang, talk


@click.command()
@click.argument("name")
@options.policy
@options.lang
def command(name: str, policy_file: str, lang: Lang) -> None:
    """Declare that the rows are now version NAME.

    Questions can then be asked anew, and are paid for anew: the budget belongs to the people, over all versions. The
    word is written into the policy, whose comments stay, and into the ledger.
    """
    from sfumato.curator.home import Home
    from sfumato.curator.policy import Policy
    from sfumato.curator.policy.reword import with_version

    before = Policy.load(policy_file)
    text = with_version(before, name)
    after = Policy.parse(text, folder=before.folder, name=before.name)
    before.ledger(Home.default()).accept(after.caps(), policy=after.digest, reason=None, version=name)
    file = Path(policy_file).resolve()
    draft = file.with_name(f".{file.name}.new")
    draft.write_bytes(text.encode())
    shutil.copymode(file, draft)
    draft.replace(file)
    talk(
        lang,
        en=f"the rows are now version {name}, before {before.version}; the budget goes on",
        fr=f"les lignes sont maintenant la version {name}, avant {before.version} ; le budget continue",
    )
