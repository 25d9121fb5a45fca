"""French or English, as the option or the environment says."""

from __future__ import annotations

import os
from typing import Literal, cast

import click

Lang = Literal["en", "fr"]


def language(asked: str | None) -> Lang:
    """The option; else the first of LC_ALL, LC_MESSAGES, LANG that is set; else English."""
    if asked is not None:
        return cast(Lang, asked)
    spoken = next((os.environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(name)), "")
    return "fr" if spoken.lower().startswith("fr") else "en"


def talk(lang: Lang, *, en: str, fr: str) -> None:
    """Say something to a person. It goes to stderr: stdout is for data."""
    click.echo(fr if lang == "fr" else en, err=True)
