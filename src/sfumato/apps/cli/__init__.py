"""The command line. Commands are listed here by name and imported when they run, so that `--help` is immediate."""

from __future__ import annotations

import sys
from importlib import import_module

import click

from sfumato.core.errors import BadInput, BadPolicy, BudgetExceeded, Bug, EngineFailed, LedgerDamaged, SfumatoError

COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("sfumato.apps.cli.demo", "see it work: a question priced, asked, replayed, refused; under a minute"),
    "init": ("sfumato.apps.cli.init", "propose a policy for files, without showing a value, and open its ledger"),
    "policy": ("sfumato.apps.cli.policy", "check, compare, accept: the one file that says what may be asked"),
    "version": ("sfumato.apps.cli.version", "declare that the rows are new"),
    "preview": ("sfumato.apps.cli.preview", "what a question would cost, and how precise it would be; free"),
    "ask": ("sfumato.apps.cli.ask", "answer a question, with error bars, and charge it"),
    "refine": ("sfumato.apps.cli.refine", "pay more for an answer, and pool the noise"),
    "sql": ("sfumato.apps.cli.sql", "a prompt for questions"),
    "tables": ("sfumato.apps.cli.tables", "what may be named in a question"),
    "budget": ("sfumato.apps.cli.budget", "what was spent and what is left"),
    "ledger": ("sfumato.apps.cli.ledger", "list, verify, export, back up the books"),
    "release": ("sfumato.apps.cli.release", "publish several products on one budget, once, with a certificate"),
    "certificate": ("sfumato.apps.cli.certificate", "read a release's certificate, and check it offline"),
    "key": ("sfumato.apps.cli.key", "the key that this home signs releases with"),
    "freeze": ("sfumato.apps.cli.freeze", "stop one analyst's questions, or everyone's"),
    "unfreeze": ("sfumato.apps.cli.unfreeze", "let questions go on"),
    "suggest": ("sfumato.apps.cli.suggest", "buy a private estimate of what several bounds would cut off"),
    "dummy": ("sfumato.apps.cli.dummy", "rehearse a question on rows drawn from the policy alone: free, about nobody"),
    "ingest": ("sfumato.apps.cli.ingest", "copy a table with each unit's rows side by side: questions cost less"),
    "purge": ("sfumato.apps.cli.purge", "remove every copy of personal data that sfumato made"),
    "serve": ("sfumato.apps.cli.serve", "answer questions over HTTP, where the analyst may be the adversary"),
    "token": ("sfumato.apps.cli.token", "who may ask the server, in which role, until when"),
    "explain": ("sfumato.apps.cli.explain", "the long story of a message: sfumato explain SF005"),
    "doctor": ("sfumato.apps.cli.doctor", "look at policy, source, ledger, key and copies, and say what is wrong"),
    "anonymise": ("sfumato.apps.cli.anonymise", "a table in which everybody looks like k others, and its risk"),
    "risk": ("sfumato.apps.cli.risk", "who could be found again in a table as it stands"),
    "which": ("sfumato.apps.cli.which", "which mechanism, when several keep the promise"),
    "lesson": ("sfumato.apps.cli.lesson", "the notes, acted out: `sfumato lesson list` is the course plan"),
    "audit": ("sfumato.apps.cli.audit", "attack our own mechanisms and compare with what they promise"),
}
"""Name, module (which holds a click command called `command`), and the line that `--help` shows."""


class _Lazy(click.Group):
    """A group that knows its commands' names and one-line helps without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="sfumato")
def cli() -> None:
    """sfumato: a curator for sensitive tables.

    It holds the rows, answers questions about them with differential privacy, and keeps a budget that cannot be overspent.
    """


def exit_code(error: SfumatoError) -> int:
    """What the shell learns: 1 bug, 2 usage, 3 refused, 4 budget, 5 policy, 6 ledger, 7 source unreachable."""
    match error:
        case Bug():
            return 1
        case BadInput():
            return 2
        case BudgetExceeded():
            return 4
        case BadPolicy():
            return 5
        case LedgerDamaged():
            return 6
        case EngineFailed():
            return 7
        case _:
            return 3


def main() -> None:
    """Run a command; an error of ours is one paragraph on stderr and an exit code, never a traceback."""
    try:
        cli(standalone_mode=False)
    except SfumatoError as error:
        click.echo(str(error), err=True)
        sys.exit(exit_code(error))
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
