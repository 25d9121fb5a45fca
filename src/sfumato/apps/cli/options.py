"""Options that many commands share, so that they are spelled and explained once."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from typing import Any, TypeVar

import click

from sfumato.apps.cli.language import language

Command = TypeVar("Command", bound=Callable[..., Any])

policy = click.option(
    "--policy",
    "policy_file",
    default="policy.toml",
    show_default=True,
    type=click.Path(dir_okay=False),
    help="the policy of the data set",
)
lang = click.option(
    "--lang",
    type=click.Choice(["en", "fr"]),
    callback=lambda _context, _option, value: language(value),
    help="the language of what is said; LANG by default",
)


server = click.option(
    "--server",
    default=None,
    metavar="URL",
    help="ask a server instead of opening a policy here; SFUMATO_TOKEN holds the token, which says who asks",
)


def analyst(command: Command) -> Command:
    """`--as`, the operating system's user by default."""
    return click.option(
        "--as",
        "analyst",
        default=user,
        help="the analyst who asks; on one machine this is bookkeeping, not access control",
    )(command)


def formats(*names: str) -> Callable[[Command], Command]:
    """`--format`, the first name by default."""
    return click.option(
        "--format", "form", type=click.Choice(names), default=names[0], show_default=True, help="how to print the data"
    )


def user() -> str:
    """Who is logged in, as far as the operating system says."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "somebody"
