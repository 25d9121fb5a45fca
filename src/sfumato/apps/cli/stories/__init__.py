"""The long story of every message: what happened, why it protects someone, what to do. In English and in French."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import final

from sfumato.apps.cli.language import Lang


@final
@dataclass(frozen=True, slots=True)
class Story:
    """What happened, why, and what to do next."""

    title: str
    why: str
    do: str


def stories(lang: Lang) -> dict[str, Story]:
    """By code, in order."""
    told: dict[str, Story] = import_module(f"sfumato.apps.cli.stories.{lang}").STORIES
    return told
