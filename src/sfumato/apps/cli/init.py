"""`sfumato init`: propose a policy from the names and types of columns, or take one written by hand; open its ledger."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from sfumato.apps.cli import options
from sfumato.apps.cli.language import Lang, talk
from sfumato.core.errors import BadInput, BadPolicy

if TYPE_CHECKING:
    from sfumato.curator.policy import Policy
    from sfumato.curator.policy.columns import Found


@click.command()
@click.argument("files", nargs=-1)
@click.option(
    "--policy",
    "by_hand",
    type=click.Path(dir_okay=False),
    help="open the ledger of a policy written by hand (PostgreSQL, Spark, memory)",
)
@click.option(
    "--unit", multiple=True, metavar="COLUMN", help="whose row it is; TABLE=COLUMN -> TABLE.COLUMN for a link"
)
@click.option(
    "--kind", type=click.Choice(["person", "household", "device", "row"]), default="person", show_default=True
)
@click.option("--neighbours", type=click.Choice(["add-remove", "replace"]), default="add-remove", show_default=True)
@click.option("--max-rows", type=click.IntRange(min=1), help="at most so many rows of one unit count  [default: 1]")
@click.option(
    "--values", multiple=True, metavar="COLUMN=A,B", help="the public keys of a column, private, or csv:FILE:COLUMN"
)
@click.option("--range", "ranges", multiple=True, metavar="COLUMN=LOW,HIGH", help="public bounds of a column")
@click.option("--public", multiple=True, metavar="TABLE", help="a table that everyone may read")
@click.option("--budget", metavar="EPSILON", help="the most that may ever be spent  [default: 3]")
@click.option("--delta", metavar="DELTA", default="1e-6", show_default=True)
@click.option("--accountant", type=click.Choice(["pure", "zcdp"]), default="pure", show_default=True)
@click.option("--ledger", metavar="PLACE", help="sqlite:FILE or postgresql:service=NAME  [default: beside the policy]")
@click.option("--missing", metavar="WORD,WORD", help="words that are read as NULL, besides nothing at all")
@click.option("--size", type=click.IntRange(min=1), help="how many rows, roughly and publicly")
@click.option("--name", help="what people call the data set")
@click.option("--id", "identifier", help="its name in the books for ever  [default: random]")
@click.option("--version", default="1", show_default=True, help="the word for the rows as they are now")
@click.option("-o", "--output", default="policy.toml", show_default=True, type=click.Path(dir_okay=False))
@options.lang
def command(
    files: tuple[str, ...],
    by_hand: str | None,
    unit: tuple[str, ...],
    kind: str,
    neighbours: str,
    max_rows: int | None,
    values: tuple[str, ...],
    ranges: tuple[str, ...],
    public: tuple[str, ...],
    budget: str | None,
    delta: str,
    accountant: str,
    ledger: str | None,
    missing: str | None,
    size: int | None,
    name: str | None,
    identifier: str | None,
    version: str,
    output: str,
    lang: Lang,
) -> None:
    """Propose a policy for FILE... (CSV, Parquet, DuckDB) and open its ledger.

    Only names and types of columns are written or shown, never a value. Columns of text stay hidden until their keys
    are declared. On a terminal, what no option says is asked. Rows in a database or a cluster need a policy that you
    write: `sfumato init --policy FILE` checks it, gives it an id if it has none, and opens its ledger.
    """
    if by_hand is not None:
        _open_books(Path(by_hand), by_hand, lang)
        return
    if not files:
        raise click.UsageError("name the files that the policy is for, or a policy written by hand: --policy FILE")
    from sfumato.curator.home import Home
    from sfumato.curator.policy import Policy
    from sfumato.curator.policy.columns import found_in
    from sfumato.curator.policy.propose import Wishes, propose

    out = Path(output)
    for taken in (out, *([] if ledger else [out.parent / f"{out.stem}.ledger"])):
        if taken.exists():
            raise BadInput(
                f"{taken} exists already, and is not overwritten",
                hint="choose another name with -o; a policy is changed with an editor, checked by `sfumato policy check`, and"
                " `sfumato init --policy FILE` opens its first ledger",
            )
    words = ("", *(word.strip() for word in (missing or "").split(",") if word.strip()))
    tables = [found for file in files for found in found_in(Path(file), _seen_from(file, out.parent), missing=words)]
    listed, bounds = dict(map(_pair, values)), dict(map(_pair, ranges))
    asking = sys.stdin.isatty() and sys.stderr.isatty()
    if asking:
        if not unit and kind != "row":
            unit = (_ask_unit(tables, lang),)
        if max_rows is None:
            max_rows = _ask_count(lang)
        if budget is None:
            budget = _ask("epsilon, for all answers together", "epsilon, pour toutes les réponses ensemble", "3", lang)
        _ask_columns(tables, unit, listed, bounds, lang)
    wishes = Wishes(
        unit=unit,
        kind=kind,
        neighbours=neighbours,
        max_rows=max_rows or 1,
        values=listed,
        ranges=bounds,
        public=public,
        epsilon=budget or "3",
        delta=delta,
        accountant=accountant,
        ledger=ledger,
        name=name,
        id=identifier,
        version=version,
        size=size,
        missing=words,
        lang=lang,
    )
    text = propose(tables, wishes, folder=out.parent)
    policy = Policy.parse(text, folder=out.parent, name=out.name)
    _write(out, text)
    try:
        policy.new_ledger(Home.default())
    except BaseException:
        out.unlink()
        raise
    for warning in policy.warnings:
        click.echo(f"{output}: {warning}", err=True)
    _sum_up(policy, output, lang)


def _open_books(file: Path, written: str, lang: Lang) -> None:
    """The first ledger of a policy that is there. What the policy already says is not said again by options."""
    from sfumato.curator.home import Home
    from sfumato.curator.policy.adopt import adopted

    context = click.get_current_context()
    given = [name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if others := sorted(set(given) - {"by_hand", "lang"}):
        raise click.UsageError(f"with --policy the policy says everything: leave {others[0]} out")
    policy, wrong, text = adopted(file)
    for error in wrong:
        click.echo(f"{written}: {error}", err=True)
    if policy is None or wrong:
        sys.exit(5)
    before = file.read_bytes()
    rewritten = before.decode("utf-8-sig") != text
    if rewritten:
        _rewrite(file, text.encode())
    try:
        policy.new_ledger(Home.default())
    except BaseException:
        if rewritten:
            _rewrite(file, before)
        raise
    for warning in policy.warnings:
        click.echo(f"{written}: {warning}", err=True)
    ledger = policy.ledger_place.removeprefix("sqlite:")
    talk(
        lang,
        en=f"opened the ledger {ledger} of data set {policy.id}\nnext: `sfumato doctor --policy {written}`",
        fr=f"registre {ledger} ouvert pour les données {policy.id}\nensuite : `sfumato doctor --policy {written}`",
    )


def _sum_up(policy: Policy, output: str, lang: Lang) -> None:
    shown = sum(len(table.columns) for table in policy.document.tables.values())
    ledger = policy.ledger_place.removeprefix("sqlite:")
    talk(
        lang,
        en=f"wrote {output} ({shown} columns may be named, every other is hidden) and its ledger {ledger}\n"
        f"next: read it, fill in public ranges and keys, then `sfumato policy check {output}`",
        fr=f"{output} écrit ({shown} colonnes peuvent être nommées, toute autre est cachée), avec son registre {ledger}\n"
        f"ensuite : le lire, remplir bornes et valeurs publiques, puis `sfumato policy check {output}`",
    )


def _write(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8", newline="\n") as handle:
            handle.write(text)
    except OSError:
        raise BadPolicy(f"{path} cannot be written", hint="choose a folder that you may write to") from None


def _rewrite(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError:
        raise BadPolicy(
            f"{path} cannot be written", hint="let yourself write to it, or write the id yourself"
        ) from None


def _seen_from(file: str, folder: Path) -> str:
    """The path as the policy says it: from the policy's own folder, unless it is absolute."""
    return file if os.path.isabs(file) else os.path.relpath(file, folder)


def _pair(wish: str) -> tuple[str, str]:
    name, equals, rest = wish.partition("=")
    if not equals or not name.strip() or not rest.strip():
        raise BadInput(f"{wish} is not a column and what it holds", hint="write sex=F,M or hours=0,99")
    return name.strip(), rest.strip()


def _ask(en: str, fr: str, default: str, lang: Lang) -> str:
    answer: str = click.prompt(fr if lang == "fr" else en, default=default, err=True, show_default=bool(default))
    return answer.strip()


def _ask_count(lang: Lang) -> int:
    text = (
        "combien de lignes comptent pour une même unité ?" if lang == "fr" else "how many rows may count for one unit?"
    )
    count: int = click.prompt(text, default=1, type=click.IntRange(min=1), err=True)
    return count


def _ask_unit(tables: list[Found], lang: Lang) -> str:
    columns = [name for found in tables for name in found.columns]
    likely = next((name for name in columns if name.casefold().endswith("id")), columns[0])
    return _ask("which column says whose row it is?", "quelle colonne dit à qui est la ligne ?", likely, lang)


def _ask_columns(
    tables: list[Found], unit: tuple[str, ...], listed: dict[str, str], bounds: dict[str, str], lang: Lang
) -> None:
    for found in tables:
        for column, kind in found.columns.items():
            name = f"{found.table}.{column}"
            if column in unit or {name, column} & {*listed, *bounds}:
                continue
            if kind == "text":
                en = f"{name}: its values, separated by commas, or private; nothing hides it"
                fr = f"{name} : ses valeurs, séparées par des virgules, ou private ; rien pour la cacher"
                if answer := _ask(en, fr, "", lang):
                    listed[name] = answer
            elif kind in {"integer", "number", "date"}:
                en = f"{name}: public bounds, low,high; nothing leaves it without"
                fr = f"{name} : bornes publiques, bas,haut ; rien pour la laisser sans"
                if answer := _ask(en, fr, "", lang):
                    bounds[name] = answer
