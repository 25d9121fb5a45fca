"""`sfumato lesson`: the notes, acted out."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.apps.cli import options, output
from sfumato.apps.cli.language import Lang, talk
from sfumato.core.errors import BadInput, NotSupported

if TYPE_CHECKING:
    from sfumato.lessons import Lesson
    from sfumato.lessons.handout import Answers
    from sfumato.show.picture import Slides
    from sfumato.show.sheet import Sheet

_FILES = ("html", "svg", "csv", "notebook", "latex")
_ENDINGS = {"html": ".html", "svg": ".svg", "csv": ".csv", "notebook": ".ipynb", "latex": ".tex"}


@click.command()
@click.argument("name", metavar="NAME|list|all")
@click.option("--epsilon", help="the price that is shown first; an epsilon of the lesson by default")
@click.option("--student", "answers", flag_value="hidden", help="leave the answer out")
@click.option("--key", "answers", flag_value="shown", help="print the answer")
@click.option("--html", help="one page that opens offline, with a slider where it helps")
@click.option("--svg", help="the chart")
@click.option("--csv", help="the points of the chart, with decimal points in every language")
@click.option("--notebook", help="a Jupyter notebook")
@click.option("--latex", help="a LaTeX document; its chart is a PDF beside it")
@click.option("--seed", type=int, help="the same figures for a whole class: generated tables only, stamped TOY")
@click.option("--output", "folder", help="with `all`: where the pages are left")
@options.formats("table", "json", "csv")
@options.lang
def command(
    name: str,
    epsilon: str | None,
    answers: str | None,
    seed: int | None,
    folder: str | None,
    form: str,
    lang: Lang,
    **files: str | None,
) -> None:
    """Act out a lesson: what a note says, the formula, the experiment, a chart, a question. `list` is the course plan."""
    from sfumato.lessons import LESSONS
    from sfumato.lessons import named as lesson_of

    if name != "all" and folder is not None:
        raise BadInput("--output is for `sfumato lesson all`", hint="name a file with --html, --svg, --csv, --latex")
    if name == "list":
        _plan(LESSONS, lang, form)
        return
    how: Answers = "hidden" if answers == "hidden" else "shown" if answers == "shown" else "folded"
    if name == "all":
        if epsilon is not None or seed is not None or any(files.values()):
            raise BadInput(
                "`sfumato lesson all` takes no option of one lesson",
                hint="give --output DIR, --lang, --student or --key",
            )
        _all(LESSONS, Path(folder or "lessons"), lang, how)
        return
    lesson = lesson_of(name)
    terms = lesson.terms(lang=lang, epsilon=epsilon, seed=seed)
    wanted = [(kind, Path(named)) for kind in _FILES if (named := files[kind]) is not None]
    for _, path in wanted:
        _writable(path)
    from sfumato.lessons.handout import handout

    sheet = handout(lesson, terms, answers=how)
    for kind, path in wanted:
        _write(kind, path, sheet)
        talk(lang, en=f"written: {path}", fr=f"écrit\u00a0: {path}")
    if not wanted:
        from sfumato.show.plain import plain

        click.echo(plain(sheet), nl=False)


def _plan(lessons: Sequence[Lesson], lang: Lang, form: str) -> None:
    """Order, minutes, prerequisites, note and section."""
    french = lang == "fr"
    columns = (
        ("ordre", "leçon", "titre", "minutes", "après", "note", "section")
        if french
        else ("order", "lesson", "title", "minutes", "after", "note", "section")
    )
    rows = []
    for place, lesson in enumerate(lessons, 1):
        cells = (place, lesson.name, lesson.title.in_(lang), lesson.minutes, ", ".join(lesson.needs), lesson.note)
        rows.append(dict(zip(columns, map(str, (*cells, lesson.section.in_(lang))), strict=True)))
    output.records(rows, columns, form=form)


def _all(lessons: Sequence[Lesson], folder: Path, lang: Lang, answers: Answers) -> None:
    """Every lesson as a page, its chart and its points, in one folder."""
    from sfumato.lessons.handout import handout

    _writable(folder / "index.html")
    for place, lesson in enumerate(lessons, 1):
        click.echo(f"{place}/{len(lessons)} {lesson.name}", err=True)
        try:
            sheet = handout(lesson, lesson.terms(lang=lang), answers=answers)
        except NotSupported as missing:  # an extra that is not installed costs one lesson, not the course
            click.echo(f"{lesson.name}: {missing}; {missing.hint}", err=True)
            continue
        for kind in ("html", "svg", "csv"):
            _write(kind, folder / f"{lesson.name}{_ENDINGS[kind]}", sheet)
    talk(lang, en=f"written: {folder}", fr=f"écrit\u00a0: {folder}")


def _write(kind: str, path: Path, sheet: Sheet) -> None:
    """One file of a lesson."""
    match kind:
        case "html":
            from sfumato.show.page import page

            _save(path, page(sheet))
        case "svg":
            from sfumato.show.chart import svg

            _save(path, svg(_slides(sheet).shown, lang=sheet.lang))
        case "csv":
            _save(path, points(_slides(sheet), sheet.stamp))
        case "notebook":
            from sfumato.show.notebook import notebook

            _save(path, notebook(sheet))
        case _:
            from sfumato.show.chart import pdf
            from sfumato.show.tex import tex

            text, pictures = tex(sheet, name=path.stem)
            _save(path, text)
            for file, picture in pictures.items():
                _save(path.with_name(file), pdf(picture, lang=sheet.lang))


def _slides(sheet: Sheet) -> Slides:
    from sfumato.show.picture import Slides

    return next(block for block in sheet.blocks if isinstance(block, Slides))


def points(slides: Slides, stamp: str) -> str:
    """The points as CSV; what was made with a seed says so in a column."""
    rows = [{**row, **({"stamp": stamp} if stamp else {})} for row in slides.records()]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _writable(path: Path) -> None:
    """Make the folder of a file, and see that the file can be written, before anything is computed."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = not path.exists()
        with path.open("a"):
            pass
        if new:
            path.unlink()
    except OSError as error:
        raise _cannot(path, error) from None


def _save(path: Path, content: str | bytes) -> None:
    try:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise _cannot(path, error) from None


def _cannot(path: Path, error: OSError) -> BadInput:
    why = (error.strerror or "it is refused").lower()
    return BadInput(f"{path} cannot be written: {why}", hint="name a file in a folder of yours, with room on its disk")
