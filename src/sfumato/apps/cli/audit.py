"""`sfumato audit`: promised epsilon beside measured lower bound, for each mechanism."""

from __future__ import annotations

import sys

import click

from sfumato.core.errors import BadInput


@click.command()
@click.argument("name", required=False)
@click.option("--runs", type=click.IntRange(min=100), default=1_000_000, show_default=True, help="draws on each side")
@click.option("--seconds", type=float, default=None, help="stop drawing after about this long, per mechanism")
@click.option("--confidence", default="0.999", show_default=True, help="of each lower bound")
def command(name: str | None, runs: int, seconds: float | None, confidence: str) -> None:
    """Attack mechanism NAME, or every one: exact law against promise, learnt events, fit of the draws to the law."""
    from sfumato.audit import audit
    from sfumato.mechanisms import ALL

    chosen = [kind for kind in ALL if name is None or kind.__name__.lower() == name.lower()]
    if not chosen:
        known = ", ".join(kind.__name__ for kind in ALL)
        raise BadInput(f"there is no mechanism called {name}", hint=f"the mechanisms are {known}")
    caught = False
    for kind in chosen:
        report = audit(kind.examples()[0], runs=runs, seconds=seconds, confidence=confidence)
        click.echo(str(report))
        caught |= not report.passed
    sys.exit(1 if caught else 0)
