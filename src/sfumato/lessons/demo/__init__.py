"""The first minute: five scenes on private tables, a report, a certificate, and the commands to go on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.lessons.demo import again, attack, check, takeaway, useful
from sfumato.lessons.demo.scene import Scene
from sfumato.lessons.demo.stage import Stage, staged
from sfumato.lessons.lesson import Words
from sfumato.show.sheet import Heading, Sheet

if TYPE_CHECKING:
    from sfumato.show.sheet import Lang

SCENES: tuple[tuple[Words, Callable[[Stage], Scene]], ...] = (
    (attack.TITLE, attack.act),
    (again.TITLE, again.act),
    (check.TITLE, check.act),
    (useful.TITLE, useful.act),
    (takeaway.TITLE, takeaway.act),
)
"""In the order in which they are acted out."""

__all__ = ["SCENES", "act"]


def act(folder: Path, *, lang: Lang, said: Callable[[str], None], told: Callable[[str], None]) -> Path:
    """Act it out, and leave the report. `told` hears which scene is on, `said` what came out; figures are computed now."""
    from sfumato.show.page import page
    from sfumato.show.plain import plain

    stage = staged(folder, lang=lang)
    scenes = []
    for place, (title, scene) in enumerate(SCENES, 1):
        told(f"{place}/{len(SCENES)} {stage.title(title)}")
        scenes.append(scene(stage))
        said(plain(Sheet(title=f"{place}. {scenes[-1].title}", lang=lang, blocks=scenes[-1].blocks)))
    report = stage.folder / "report.html"
    blocks = [
        block for place, each in enumerate(scenes, 1) for block in (Heading(f"{place}. {each.title}"), *each.blocks)
    ]
    report.write_text(page(stage.sheet(tuple(blocks))), encoding="utf-8")
    said(stage.go_on(report))
    return report
