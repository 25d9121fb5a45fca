"""One scene, acted out: what is printed of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from sfumato.show.sheet import Block


@final
@dataclass(frozen=True)
class Scene:
    """A title and what follows it, on the terminal and in the report."""

    title: str
    blocks: tuple[Block, ...]
