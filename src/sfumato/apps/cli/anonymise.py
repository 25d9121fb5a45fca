"""`sfumato anonymise`: a table in which everybody looks like k - 1 others, and a report of what remains at risk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.apps.cli import options, tablefile
from sfumato.apps.cli.language import Lang
from sfumato.core.errors import BadInput

if TYPE_CHECKING:
    from sfumato.anonymise import Model


def names(_context: click.Context, _option: click.Parameter, value: str | None) -> list[str]:
    """age,sex -> ["age", "sex"]."""
    return [name.strip() for name in (value or "").split(",") if name.strip()]


@click.command()
@click.argument("file")
@click.option("--k", type=click.IntRange(min=1), required=True, help="the smallest group of people who look alike")
@click.option("--quasi-identifiers", callback=names, required=True, help="columns that others may know: age,sex")
@click.option("--sensitive", callback=names, help="columns to be kept as they are, and protected")
@click.option("--identifiers", callback=names, help="columns to be replaced by *")
@click.option("--keep", callback=names, help="harmless columns to be kept; columns without a role are left out")
@click.option("--distinct", type=int, help="l-diversity: different sensitive values in every group")
@click.option("--entropy", help="entropy l-diversity")
@click.option("--recursive", help="recursive (c, l)-diversity, as C,L")
@click.option("--t", "closeness", help="t-closeness: the farthest a group may be from the whole table")
@click.option("--alpha", help="(alpha, k)-anonymity: the largest part of a group with one sensitive value")
@click.option("--k-map", type=int, help="people of --population in every group")
@click.option("--population", type=click.Path(dir_okay=False), help="a table that the people were drawn from")
@click.option("--hierarchies", type=click.Path(dir_okay=False), help="coarser names, in TOML")
@click.option("--cuts", multiple=True, help="public cut points, as age=0,10,30,65")
@click.option(
    "--method",
    type=click.Choice(["auto", "mondrian", "relaxed", "local", "global", "microaggregate"]),
    default="auto",
    show_default=True,
    help="local when hierarchies are given, mondrian when not",
)
@click.option("--suppression", default="0", show_default=True, help="people who may be left out, as 5% or 0.05")
@click.option(
    "--null",
    type=click.Choice(["value", "wildcard"]),
    default="value",
    show_default=True,
    help="a missing value is one value more, or matches any",
)
@click.option(
    "--edges", type=click.Choice(["public", "data"]), default="public", show_default=True, help="of intervals"
)
@click.option("--missing", multiple=True, default=("", "?", "NA"), show_default=True, help="texts read as missing")
@click.option("-o", "--output", help="a .csv or .parquet file; CSV on stdout by default")
@click.option("--report", "report_file", help="the report as JSON")
@click.option("--chart", help="sizes of the groups, as .html, .svg or .png")
@click.option("--frontier", help="risk against detail for several k, as .html, .svg or .png")
@click.option("--epsilon", hidden=True)
@click.option("--delta", hidden=True)
@options.lang
def command(
    file: str,
    missing: tuple[str, ...],
    population: str | None,
    hierarchies: str | None,
    cuts: tuple[str, ...],
    suppression: str,
    output: str | None,
    report_file: str | None,
    chart: str | None,
    frontier: str | None,
    lang: Lang,
    distinct: int | None,
    entropy: str | None,
    recursive: str | None,
    closeness: str | None,
    alpha: str | None,
    k_map: int | None,
    **asked: Any,
) -> None:
    """Release FILE so that everybody looks like at least k - 1 others. This is not differential privacy: see the report."""
    from sfumato.anonymise import anonymise, load
    from sfumato.anonymise import frontier as frontier_of

    if output and Path(output).resolve() == Path(file).resolve():
        raise BadInput("the output would overwrite the table", hint="name another file with -o")
    asked["models"] = list(_models(asked["k"], distinct, entropy, recursive, closeness, alpha, k_map))
    asked["hierarchies"] = load(hierarchies) if hierarchies else {}
    asked["cuts"] = dict(map(_cut_points, cuts))
    asked["suppression"] = _part(suppression)
    asked["population"] = tablefile.read(population, missing=missing) if population else None
    table = tablefile.read(file, missing=missing)
    released = anonymise(table, lang=lang, **asked)
    tablefile.write(released.frame, output)
    click.echo(str(released.report), err=True)
    if report_file:
        Path(report_file).write_text(json.dumps(released.report.to_dict(), ensure_ascii=False, indent=2) + "\n")
    if chart:
        _save(released.report.plot(), chart)
    if frontier:
        del asked["k"]
        _save(frontier_of(table, lang=lang, **asked).plot(), frontier)


def _models(
    k: int,
    distinct: int | None,
    entropy: str | None,
    recursive: str | None,
    closeness: str | None,
    alpha: str | None,
    k_map: int | None,
) -> Iterator[Model]:
    from sfumato.anonymise import AlphaK, DistinctDiversity, EntropyDiversity, KMap, RecursiveDiversity, TCloseness

    if distinct is not None:
        yield DistinctDiversity(distinct)
    if entropy is not None:
        yield EntropyDiversity(entropy)
    if recursive is not None:
        c, comma, place = recursive.partition(",")
        if not comma or not place.strip().isdigit():
            raise BadInput("--recursive takes two numbers", hint="write --recursive 3,2 for c = 3 and l = 2")
        yield RecursiveDiversity(c.strip(), int(place))
    if closeness is not None:
        yield TCloseness(closeness)
    if alpha is not None:
        yield AlphaK(alpha, k)
    if k_map is not None:
        yield KMap(k_map)


def _cut_points(text: str) -> tuple[str, list[float]]:
    name, equals, points = text.partition("=")
    try:
        found = [float(point) for point in points.split(",")]
    except ValueError:
        found = []
    if not equals or not found:
        raise BadInput("--cuts takes a column and numbers", hint="write --cuts age=0,10,30,65")
    return name.strip(), found


def _part(text: str) -> str:
    from decimal import Decimal, InvalidOperation

    if not text.endswith("%"):
        return text
    try:
        return str(Decimal(text.removesuffix("%").strip()) / 100)
    except InvalidOperation:
        return "none"


def _save(chart: Any, path: str) -> None:
    from sfumato.show.chart import save

    save(chart, path)
