"""`sfumato risk`: who could be found again in a table as it stands."""

from __future__ import annotations

import click

from sfumato.apps.cli import options, output, tablefile
from sfumato.apps.cli.anonymise import names
from sfumato.apps.cli.language import Lang


@click.command()
@click.argument("file")
@click.option("--quasi-identifiers", callback=names, required=True, help="columns that others may know: age,sex")
@click.option("--sensitive", callback=names, help="columns whose values would hurt")
@click.option("--population", type=click.Path(dir_okay=False), help="a table that the people were drawn from")
@click.option("--threshold", type=float, default=0.2, show_default=True, help="count people whose risk is above")
@click.option("--missing", multiple=True, default=("", "?", "NA"), show_default=True, help="texts read as missing")
@options.formats("table", "json")
@options.lang
def command(
    file: str,
    quasi_identifiers: list[str],
    sensitive: list[str],
    population: str | None,
    threshold: float,
    missing: tuple[str, ...],
    form: str,
    lang: Lang,
) -> None:
    """The risk of being found again in FILE, and what it would tell. Groups are counted; no row is printed."""
    from sfumato.anonymise import assess

    found = assess(
        tablefile.read(file, missing=missing),
        quasi_identifiers=quasi_identifiers,
        sensitive=sensitive,
        population=tablefile.read(population, missing=missing) if population else None,
        threshold=threshold,
        lang=lang,
    )
    if form == "json":
        output.as_json(found.to_dict())
    else:
        click.echo(str(found))
