"""`sfumato audit`: promised epsilon beside measured lower bound, for each mechanism."""

from __future__ import annotations

import sys
from typing import Any

import click

from sfumato.core.errors import BadInput


@click.command()
@click.argument("name", required=False)
@click.option("--runs", type=click.IntRange(min=100), default=1_000_000, show_default=True, help="draws on each side")
@click.option("--seconds", type=float, default=None, help="stop drawing after about this long, per mechanism")
@click.option("--confidence", default="0.999", show_default=True, help="of each lower bound")
@click.option("--record", is_flag=True, help="keep what was found in the sfumato home: certificates name its digest")
def command(name: str | None, runs: int, seconds: float | None, confidence: str, record: bool) -> None:
    """Attack mechanism NAME, or every one: exact law against promise, learnt events, fit of the draws to the law."""
    from sfumato.audit import audit
    from sfumato.mechanisms import ALL

    chosen = [kind for kind in ALL if name is None or kind.__name__.lower() == name.lower()]
    if not chosen:
        known = ", ".join(kind.__name__ for kind in ALL)
        raise BadInput(f"there is no mechanism called {name}", hint=f"the mechanisms are {known}")
    if record and name is not None:
        raise BadInput("one mechanism is no audit of this version", hint="leave out its name, or --record")
    caught, found = False, []
    for kind in chosen:
        report = audit(kind.examples()[0], runs=runs, seconds=seconds, confidence=confidence)
        click.echo(str(report))
        caught |= not report.passed
        found.append(
            {
                "mechanism": report.mechanism,
                "passed": report.passed,
                "claimed": f"{report.claimed:.6g}",
                "lower_bound": f"{report.lower_bound:.6g}",
                "delta": f"{report.delta:.3g}",
                "runs": report.runs,
            }
        )
    if record:
        _keep(found, confidence)
    sys.exit(1 if caught else 0)


def _keep(found: list[dict[str, Any]], confidence: str) -> None:
    """Write what was found where releases look for it."""
    from datetime import UTC, datetime

    from sfumato.core.canonical import canonical
    from sfumato.curator.certificate.body import installed
    from sfumato.curator.home import Home
    from sfumato.curator.release.folder import write_file

    home = Home.default()
    home.folder(home.path)
    body = {"version": installed(), "at": datetime.now(UTC).isoformat(timespec="seconds"), "confidence": confidence}
    write_file(home.audit_file, canonical(body | {"mechanisms": found}).encode())
