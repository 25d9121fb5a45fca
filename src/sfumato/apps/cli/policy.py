"""`sfumato policy`: check, compare and accept the one file that says what may be asked."""

from __future__ import annotations

import json
import sys

import click

from sfumato.apps.cli import options, output
from sfumato.apps.cli.language import Lang, talk
from sfumato.core.errors import BadPolicy

FILE = click.Path(dir_okay=False)


@click.group()
def command() -> None:
    """The policy: what is protected, what may be asked, how much may be spent."""


@command.command()
@click.argument("file", default="policy.toml", type=FILE)
@click.option("--scan", is_flag=True, help="read the rows too: for the owner only")
@options.formats("table", "json")
@options.lang
def check(file: str, *, scan: bool, form: str, lang: Lang) -> None:
    """Check FILE (policy.toml) and, where it can be read, that its source has the columns it names.

    Exits with 5 when something is wrong, and says all of it, with line and column.
    """
    from sfumato.curator.policy import Policy
    from sfumato.curator.policy.elsewhere import elsewhere, look_elsewhere
    from sfumato.curator.policy.scan import look, scanned

    policy, wrong = Policy.read(file)
    warned: tuple[BadPolicy, ...] = ()
    unseen: tuple[str, ...] = ()
    away: tuple[str, ...] = ()
    if policy is not None:
        seen = look(policy)
        wrong, warned, unseen = seen.problems, (*policy.warnings, *seen.warnings), seen.unseen
        away = elsewhere(policy)
        if scan and away:
            wrong = (*wrong, *look_elsewhere(policy))
        elif scan and not wrong:
            rows = scanned(policy)
            wrong, warned = rows.problems, (*warned, *rows.warnings)
    if form == "json":
        output.as_json({"ok": not wrong, "problems": list(map(_plain, wrong)), "warnings": list(map(_plain, warned))})
    for error in (*wrong, *warned):
        click.echo(f"{file}: {error}", err=True)
    for table in unseen:
        if table in away:
            _say_of_server(file, table, lang, looked=scan)
            continue
        talk(
            lang,
            en=f"{file}: the source of {table} was not found from here, so its columns were not compared",
            fr=f"{file} : la source de {table} est introuvable d'ici, ses colonnes n'ont pas été comparées",
        )
    if wrong:
        sys.exit(5)
    if form == "table" and policy is not None:
        columns = sum(len(table.columns) for table in policy.document.tables.values())
        tables = len(policy.document.tables)
        click.echo(
            f"{file} : correcte ({tables} table(s), {columns} colonne(s) nommables)"
            if lang == "fr"
            else f"{file}: ok ({tables} table(s), {columns} column(s) may be named)"
        )


def _say_of_server(file: str, table: str, lang: Lang, *, looked: bool) -> None:
    """What was, and what was not, compared with a table of a server or a cluster."""
    if looked:
        talk(
            lang,
            en=f"{file}: the columns of {table} were compared with its server's; its rows were not read, a scan reads files",
            fr=f"{file} : les colonnes de {table} ont été comparées à celles du serveur ; ses lignes n'ont pas été lues",
        )
    else:
        talk(
            lang,
            en=f"{file}: the source of {table} is no file, so its columns were not compared: --scan or `sfumato doctor` does",
            fr=f"{file} : la source de {table} n'est pas un fichier, ses colonnes n'ont pas été comparées : --scan le fait",
        )


@command.command()
@click.argument("old", type=FILE)
@click.argument("new", type=FILE)
@options.formats("table", "json")
@options.lang
def diff(old: str, new: str, form: str, lang: Lang) -> None:
    """Say what going from OLD to NEW does to people's protection, the most important first."""
    from sfumato.curator.policy import Policy
    from sfumato.curator.policy.diff import changes

    found = changes(Policy.load(old), Policy.load(new))
    if form == "json":
        output.as_json(
            [{"effect": each.effect.name.lower(), "place": each.place, "says": each.says(lang)} for each in found]
        )
        return
    for each in found:
        click.echo(f"{each.effect.word(lang):>9}  {each.says(lang)}")
    if not found:
        talk(lang, en="the two policies say the same", fr="les deux politiques disent la même chose")


@command.command()
@options.policy
@click.option("--reason", required=True, help="why; it is written into the ledger for ever")
@options.lang
def accept(policy_file: str, reason: str, lang: Lang) -> None:
    """Write a changed policy into the ledger, with the reason: needed where a cap goes up."""
    from sfumato.curator.home import Home
    from sfumato.curator.policy import Policy

    if not reason.strip():
        raise click.UsageError("a reason says something")
    policy = Policy.load(policy_file)
    ledger = policy.ledger(Home.default())
    if ledger.accept(policy.caps(), policy=policy.digest, reason=reason, version=policy.version):
        position = ledger.position()
        talk(lang, en=f"accepted, in record {position.n}", fr=f"accepté, à l'inscription {position.n}")
    else:
        talk(lang, en="the ledger has this policy already", fr="le registre a déjà cette politique")


@command.command()
def schema() -> None:
    """Print the JSON Schema of a policy file, for editors."""
    from sfumato.curator.policy.document import json_schema

    click.echo(json.dumps(json_schema(), indent=2, ensure_ascii=False))


def _plain(error: BadPolicy) -> dict[str, object]:
    return {
        "line": error.line,
        "column": error.column,
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
    }
