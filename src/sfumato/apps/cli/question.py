"""What `preview`, `ask` and `refine` share: how a question and its price are spelled, and how an answer is printed."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from sfumato.apps.cli import output
from sfumato.apps.cli.language import Lang
from sfumato.core.errors import BadInput

if TYPE_CHECKING:
    from sfumato.curator.answer import Answer
    from sfumato.curator.door.remote import RemoteSession
    from sfumato.curator.preview import Preview
    from sfumato.curator.rehearsal import Rehearsal
    from sfumato.curator.session import Session

Command = TypeVar("Command", bound=Callable[..., Any])

workload = click.option(
    "--workload",
    type=click.Choice(["bins", "ranges", "cdf", "levels"]),
    default="bins",
    show_default=True,
    help="what ordered groups are for: each by itself, sums over ranges of them, cumulative counts, or declared levels",
)
at = click.option(
    "--at", type=int, default=1000, show_default=True, help="the size of the groups that --within speaks of"
)


def price(command: Command) -> Command:
    """`--epsilon`, or `--within` with `--at`; and the confidence of the bars."""
    for option in (
        click.option("--confidence", default=None, help="of the bars; the policy's by default"),
        at,
        workload,
        click.option(
            "--delta", default=None, help="private keys only: the part of the budget's delta that they may use"
        ),
        click.option("--within", default=None, help="ask for bars of this half-width, and pay what that costs"),
        click.option("--epsilon", default=None, help="ask at this price (the expert's way)"),
    ):
        command = option(command)
    return command


def session_of(policy_file: str, analyst: str, server: str | None = None) -> Session:
    """The session of an analyst, through the one door; or of whoever's token is in the environment, before a server."""
    if server is not None:
        return cast("Session", remote(server))
    from sfumato.curator.dataset import open_dataset

    return open_dataset(policy_file).session(analyst)


def remote(server: str) -> RemoteSession:
    """The session that SFUMATO_TOKEN opens. URL#NAME says which data set, when the token opens several."""
    from sfumato.curator.door.remote import connect

    url, _, dataset = server.partition("#")
    return connect(url, token=os.environ.get("SFUMATO_TOKEN", ""), dataset=dataset or None)


def previews_of(session: Session | Rehearsal, question: str, price: dict[str, Any]) -> list[Preview]:
    """The question; or every question of a file, at the same price each."""
    if question.endswith(".sql") and "\n" not in question:
        from sfumato.queries.sql.split import split

        try:
            text = Path(question).read_text()
        except (OSError, UnicodeDecodeError):
            raise BadInput(
                f"there is no file of SQL called {question}", hint="give the path of a file in UTF-8, or a question"
            ) from None
        return [session.preview(each, **price) for each in split(text)]
    return [session.preview(question, **price)]


def show_answers(answers: list[Answer], form: str, lang: Lang) -> None:
    """On stdout, in the form that was asked for."""
    match form:
        case "json":
            found = [answer.to_json() for answer in answers]
            output.as_json(found[0] if len(found) == 1 else found)
        case "csv":
            for answer in answers:
                text = io.StringIO()
                writer = csv.DictWriter(text, answer.fields, lineterminator="\n")
                writer.writeheader()
                writer.writerows(answer.rows)
                click.echo(text.getvalue(), nl=False)
        case "parquet":
            import pyarrow.parquet as pq

            if len(answers) != 1:
                raise click.UsageError("a Parquet file holds one answer")
            pq.write_table(answers[0].to_arrow(), sys.stdout.buffer)
        case _:
            from sfumato.show.answer import text as shown

            for answer in answers:
                click.echo(shown(answer, lang=lang))


def _compared(preview: Preview) -> list[dict[str, Any]]:
    """The strategies compared for each statistic, and the variance of a question of the workload, in rows squared."""
    whole = float(preview.bounded.whole) ** 2
    return [
        {
            "workload": each.about,
            "variance": {option.name: option.variance / whole for option in each.options},
            "lower_bound": each.lower_bound / whole,
        }
        for each in preview.comparisons()
    ]


def show_previews(previews: list[Preview], session: Session | RemoteSession, form: str, lang: Lang) -> None:
    """The price, and what is left to pay it from."""
    from fractions import Fraction

    from sfumato.core.exact import decimal_text
    from sfumato.curator.door.remote import RemoteSession
    from sfumato.curator.notes import notes
    from sfumato.curator.remarks import remarks
    from sfumato.show.preview import lines

    left = session.left()
    unit = left.caps.unit
    found = []
    for preview in previews:
        charge = preview.charge
        found.append(
            {
                "cost": {unit: decimal_text(charge.amount), "delta": decimal_text(charge.failure)},
                "epsilon": decimal_text(preview.epsilon),
                "left": {unit: decimal_text(left.analyst.amount, rounding="down")},
                "within": preview.within(),
                "at": preview.at,
                "confidence": decimal_text(preview.confidence),
                "counted": preview.counted,
                "noise": preview.noise(),
                "cells": None if preview.bounded.private else preview.bounded.size,
                "threshold": preview.threshold,
                "notes": list(notes(preview)),
                "remarks": [remark.en for remark in remarks(preview)],
                **({"strategies": _compared(preview)} if preview.workload != "bins" else {}),
            }
        )
    if form == "json":
        output.as_json(found[0] if len(found) == 1 else found)
        return
    french, sign = lang == "fr", "ε" if unit == "epsilon" else "ρ"
    for preview in previews:
        cap = left.caps.of(session.analyst).amount
        cost = decimal_text(preview.charge.amount)
        mine, whole = (decimal_text(amount, rounding="down") for amount in (left.analyst.amount, left.total.amount))
        of = f"sur {decimal_text(cap)}" if french else f"of {decimal_text(cap)}"
        rest = f" ; jeu de données : {whole}" if french else f"; data set: {whole} left"
        rest = "" if isinstance(session, RemoteSession) else rest  # a server tells nobody what others have spent
        if french:
            click.echo(f" {'coût':<9} {sign} {cost}, il vous reste {mine} ({of}{rest})".replace(".", ","))
        else:
            click.echo(f" {'cost':<9} {sign} {cost} of your {mine} left ({of}{rest})")
        for line in lines(preview, notes(preview), lang=lang):
            click.echo(line)
        for remark in remarks(preview):
            click.echo(f" {'note':<9} {remark.fr if french else remark.en}")
        if preview.charge.amount > left.analyst.amount:
            click.echo(
                f" {'note':<9} "
                + (
                    "ce prix dépasse ce qu'il vous reste : seule une réponse déjà donnée peut être relue"
                    if french
                    else "this price is more than what you have left: only an answer given before can be had again"
                )
            )
    if len(previews) > 1:
        total = sum((preview.charge.amount for preview in previews), Fraction(0))
        click.echo(f" {'total':<9} {sign} {decimal_text(total)}")
