"""`sfumato demo`: what `make demo` runs."""

from __future__ import annotations

from pathlib import Path

import click

from sfumato.apps.cli import options
from sfumato.apps.cli.language import Lang


@click.command()
@click.option(
    "--output", type=click.Path(file_okay=False), default="demo", show_default=True, help="where files are left"
)
@options.lang
def command(output: str, lang: Lang) -> None:
    """See it work in five scenes, offline: the attack, asking again, the check, what is left of use, what to take away."""
    from sfumato.lessons.demo import act

    act(Path(output), lang=lang, said=click.echo, told=lambda place: click.echo(f"[{place}]", err=True))
