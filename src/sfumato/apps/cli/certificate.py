"""`sfumato certificate`: read a certificate, and check offline that nothing was changed since it was signed."""

from __future__ import annotations

import click

from sfumato.apps.cli import options, output
from sfumato.apps.cli.language import Lang, talk
from sfumato.core.errors import LedgerDamaged


@click.group()
def command() -> None:
    """The certificate of a release: what it promises, who signed it, whether it still is what was signed."""


@command.command()
@click.argument("file", type=click.Path())
@options.formats("text", "json", "html", "aipd")
@options.lang
def show(file: str, form: str, lang: Lang) -> None:
    """Print the certificate in FILE, once its signature holds: for people, programs, or an impact assessment (aipd)."""
    from sfumato.curator.certificate.certificate import Certificate

    click.echo(Certificate.read(_certificate(file)).show(form=form, lang=lang))


@command.command()
@click.argument("file", type=click.Path())
@click.option("--signer", help="the fingerprint that the issuer told you; another one is refused")
@click.option(
    "--policy", "policy_file", type=click.Path(dir_okay=False), help="the owner's: compare data set, policy, ledger"
)
@options.formats("table", "json")
@options.lang
def verify(file: str, signer: str | None, policy_file: str | None, form: str, lang: Lang) -> None:
    """Check the certificate in FILE (or in a release's folder), and every file that it names. Needs no network and no key.

    A changed byte anywhere is found, and which file it is in is said. Exits with 6 when anything is not as it was signed.
    """
    from sfumato.curator.certificate.verify import in_ledger, of_policy
    from sfumato.curator.certificate.verify import verify as verified

    found = verified(_certificate(file))
    certificate = found.certificate
    if signer is not None and _letters(signer) != _letters(certificate.signer):
        raise LedgerDamaged(
            f"{certificate.id} is signed by {certificate.signer}, not by {signer}",
            hint="get the release from its issuer, and compare the fingerprint that they tell you by another way",
        )
    if policy_file is not None:
        from sfumato.curator.home import Home
        from sfumato.curator.policy import Policy

        policy = Policy.load(policy_file)
        of_policy(certificate, policy)
        in_ledger(certificate, policy.ledger(Home.default()))
    if form == "json":
        output.as_json(
            {"verified": True, "release": certificate.id, "files": found.files, "signer": certificate.signer}
            | {"unnamed": list(found.unnamed), "ledger": policy_file is not None}
        )
        return
    click.echo(
        f"vérifié\u202f: {certificate.id}, {found.files} fichiers, signé par {certificate.signer}"
        if lang == "fr"
        else f"verified: {certificate.id}, {found.files} files, signed by {certificate.signer}"
    )
    for name in found.unnamed:
        talk(lang, en=f"{name} is no part of the release", fr=f"{name} ne fait pas partie de la publication")


def _certificate(path: str) -> str:
    """A folder stands for the certificate in it."""
    from pathlib import Path

    return str(Path(path) / "certificate.json") if Path(path).is_dir() else path


def _letters(fingerprint: str) -> str:
    return "".join(fingerprint.split()).replace(":", "").lower()
