"""`sfumato demo`: what `make demo` runs."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option(
    "--output", type=click.Path(file_okay=False), default="demo", show_default=True, help="where files are left"
)
def command(output: str) -> None:
    """See it work on a generated table; leaves the table, its policy and its ledger behind."""
    from sfumato.apps.demo import run

    run(Path(output), click.echo)
