"""`sfumato dummy`: rows drawn from the policy alone, and every question on them, free."""

from __future__ import annotations

from typing import Any

import click

from sfumato.apps.cli import options, output
from sfumato.apps.cli.language import Lang, talk
from sfumato.apps.cli.question import previews_of, price, show_answers


@click.command()
@click.argument("question", required=False)
@price
@click.option("--table", default=None, help="print the dummy rows of this table")
@click.option("--rows", type=int, default=1000, show_default=True, help="how many dummy rows each table has")
@options.policy
@options.formats("table", "json", "csv", "parquet")
@options.lang
def command(
    question: str | None, table: str | None, rows: int, policy_file: str, form: str, lang: Lang, **terms: Any
) -> None:
    """Answer QUESTION on rows that nobody has: the columns, types and bars of the real answer, at no cost.

    No ledger is read or written. With --table, the dummy rows themselves; everything says DUMMY.
    """
    from sfumato.curator.policy import Policy
    from sfumato.curator.rehearsal import Rehearsal

    rehearsal = Rehearsal.of(Policy.load(policy_file), rows=rows)
    if (question is None) == (table is None):
        raise click.UsageError("give a question, or --table to see rows")
    talk(
        lang,
        en="DUMMY: drawn from the policy alone; no row is anyone's",
        fr="DUMMY : tiré de la politique seule ; aucune ligne n'est de personne",
    )
    if question is not None:
        show_answers([rehearsal.ask(each) for each in previews_of(rehearsal, question, terms)], form, lang)
        return
    found = rehearsal.tables.get(table or "")
    if found is None:
        raise click.UsageError(f"the policy has no table {table}")
    if form == "parquet":
        import sys

        import pyarrow.parquet as pq

        pq.write_table(found, sys.stdout.buffer)
        return
    text = [{name: "" if value is None else str(value) for name, value in row.items()} for row in found.to_pylist()]
    output.records(text, found.column_names, form=form)
