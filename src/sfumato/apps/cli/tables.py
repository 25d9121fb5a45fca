"""`sfumato tables`: what may be named in a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sfumato.apps.cli import options, output
from sfumato.apps.cli.language import Lang, talk
from sfumato.core.exact import decimal_text

if TYPE_CHECKING:
    from sfumato.queries.schema import Column, Schema

COLUMNS = ("table", "column", "type", "range", "grain", "keys", "null")
_SHOWN = 5


@click.command()
@options.policy
@options.server
@options.formats("table", "json", "csv")
@options.lang
def command(policy_file: str, server: str | None, form: str, lang: Lang) -> None:
    """List the tables and the columns that questions may name; every other column is hidden."""
    schema = _schema(policy_file, server)
    rows = [
        {
            "table": table.name,
            "column": column.name,
            "type": column.type,
            "range": _range(column),
            "grain": _grain(column),
            "keys": _keys(column, lang, whole=form != "table"),
            "null": column.null,
        }
        for table in schema.tables
        for column in table.columns
    ]
    output.records(rows, COLUMNS, form=form)
    unit = schema.unit
    for table in schema.tables:
        if table.public:
            talk(lang, en=f"{table.name} is public", fr=f"{table.name} est publique")
        else:
            talk(
                lang,
                en=f"{table.name} protects each {unit.kind}: at most {unit.max_rows} row(s) of one count",
                fr=f"{table.name} protège chaque {_french(unit.kind)} : au plus {unit.max_rows} ligne(s) comptent",
            )
        if table.path:
            way = ", then ".join(f"{step.column} to {step.table}.{step.key}" for step in table.path)
            talk(
                lang,
                en=f"{table.name} reaches its {unit.kind} by {way}; rows that lead nowhere are left out",
                fr=f"{table.name} atteint sa {_french(unit.kind)} par {way.replace('then', 'puis')} ; "
                "les lignes qui ne mènent nulle part sont écartées",
            )


def _schema(policy_file: str, server: str | None) -> Schema:
    if server is not None:
        from sfumato.apps.cli.question import remote

        return remote(server).terms.schema
    from sfumato.curator.policy import Policy

    return Policy.load(policy_file).schema()


def _french(kind: str) -> str:
    return {"person": "personne", "household": "foyer", "device": "appareil", "row": "ligne"}[kind]


def _range(column: Column) -> str:
    if column.range is None:
        return ""
    low, high = (bound.isoformat() if hasattr(bound, "isoformat") else decimal_text(bound) for bound in column.range)
    return f"{low} to {high}"


def _grain(column: Column) -> str:
    """The grid of a number, where it has one: an integer's is 1, and a number's comes with its range."""
    shown = column.type == "number" and column.range is not None and column.grain is not None
    return decimal_text(column.grain) if shown and column.grain is not None else ""


def _keys(column: Column, lang: Lang, *, whole: bool) -> str:
    match column.values:
        case None:
            return ""
        case "private":
            return "privées" if lang == "fr" else "private"
        case values:
            shown = values if whole else values[:_SHOWN]
            rest = len(values) - len(shown)
            return ", ".join(map(str, shown)) + (f", ... (+{rest})" if rest else "")
