"""Every lesson of the course, in both languages and every form: it runs, says what it should, and slips in no sentence."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import final
from xml.etree import ElementTree

import pytest

import sfumato.lessons
from sfumato.core import Private
from sfumato.core.errors import BadInput, NotAllowed
from sfumato.lessons import LESSONS, Lesson, Terms, Told, named
from sfumato.lessons.handout import printed
from sfumato.lessons.toy import ToySource
from sfumato.mechanisms import AboveThreshold, Laplace
from sfumato.show.chart import svg
from sfumato.show.notebook import notebook
from sfumato.show.page import page
from sfumato.show.picture import Slides
from sfumato.show.plain import plain
from sfumato.show.sheet import Code, Folded, Heading, Lang, Paragraph, Sheet, Table
from sfumato.show.tex import tex
from sfumato.show.typography import slips

ROOT = Path(sfumato.lessons.__file__).parent
EACH = pytest.mark.parametrize(
    "lesson", [pytest.param(lesson, id=lesson.name, marks=pytest.mark.slow) for lesson in LESSONS]
)
BOTH = pytest.mark.parametrize("lang", ["en", "fr"])
SECONDS = 5
LARGEST = 600_000
"""Bytes of a page."""


SEED = 7


@final
@dataclass(frozen=True)
class Acted:
    """A lesson acted out once for all tests, and the seconds of this processor that it took, every form included."""

    terms: Terms
    told: Told
    sheet: Sheet
    page: str
    seconds: float


@cache
def acted(lesson: Lesson, lang: Lang) -> Acted:
    """In French as a class does it, where it may: with a seed."""
    terms = lesson.terms(lang=lang, seed=SEED if lesson.toy and lang == "fr" else None)
    started = time.process_time()
    told = lesson.tell(terms)
    sheet = printed(lesson, terms, told, answers="shown")
    written = page(sheet)
    notebook(sheet), tex(sheet, name=lesson.name), plain(sheet)
    return Acted(terms, told, sheet, written, time.process_time() - started)


def slides_of(sheet: Sheet) -> Slides:
    (found,) = [block for block in sheet.blocks if isinstance(block, Slides)]
    return found


def words_of(sheet: Sheet) -> str:
    """Everything that is read as prose: not formulas, not code."""
    said = [sheet.title, sheet.subtitle, sheet.source]
    for block in sheet.blocks:
        match block:
            case Heading(text) | Paragraph(text):
                said.append(text)
            case Table(columns, rows, caption):
                said += [*columns, caption, *(cell for row in rows for cell in row if isinstance(cell, str))]
            case Slides():
                for slide in block.slides:
                    each = slide.picture
                    said += [slide.label, each.title, each.told, each.bars, each.x.title, each.y.title]
                    said += [series.name for series in each.series]
            case _:
                pass
    return re.sub(r"`[^`]*`", "", "\n".join(said))


def test_the_list_is_every_lesson_file() -> None:
    """A file that holds a lesson and is not in LESSONS would escape these tests."""
    holding = {path.stem for path in ROOT.glob("*.py") if re.search(r"^LESSON = ", path.read_text(), re.M)}
    assert {lesson.tell.__module__.rsplit(".", 1)[1] for lesson in LESSONS} == holding
    assert len({lesson.name for lesson in LESSONS}) == len(LESSONS)


def test_a_lesson_comes_after_what_it_needs() -> None:
    before: set[str] = set()
    for lesson in LESSONS:
        assert set(lesson.needs) <= before, lesson.name
        before.add(lesson.name)


@EACH
@BOTH
def test_a_lesson_is_told_in_seconds(lesson: Lesson, lang: Lang) -> None:
    done = acted(lesson, lang)
    assert done.seconds < SECONDS
    headings = [block.text for block in done.sheet.blocks if isinstance(block, Heading)]
    assert len(headings) == 6
    assert done.told.formulas
    assert done.told.remark


@EACH
@BOTH
def test_every_form_is_well_formed(lesson: Lesson, lang: Lang) -> None:
    done = acted(lesson, lang)
    sheet, written = done.sheet, done.page
    assert len(written.encode()) < LARGEST
    assert not re.search(r"""(?:src|href)\s*=|url\((?!["']?#)|@import|fetch\(|XMLHttp""", written), (
        "a page fetches nothing"
    )
    assert "content=\"default-src 'none'" in written
    cells = json.loads(notebook(sheet))["cells"]
    assert {cell["cell_type"] for cell in cells} == {"markdown", "code"}
    text, pictures = tex(sheet, name="x")
    assert text.count("\\begin{") == text.count("\\end{")
    assert all(file in text for file in pictures)
    assert not re.search(r"[αβγδεζηθλμνξπρστφχψωΔΣΦ≤≥±×√∞∈]", "".join(re.findall(r"^[^\\].*", text, re.M)))
    assert sheet.title in plain(sheet)


@EACH
def test_the_code_of_the_notebook_runs_and_a_class_sees_the_same(lesson: Lesson) -> None:
    done = acted(lesson, "fr")
    (code,) = [block.text for block in done.sheet.blocks if isinstance(block, Code)]
    scope: dict[str, object] = {}
    exec(compile(code, lesson.name, "exec"), scope)  # noqa: S102
    assert isinstance(scope["told"], Told)
    assert not lesson.toy or scope["told"] == done.told


@EACH
@BOTH
def test_a_chart_says_in_words_what_it_shows(lesson: Lesson, lang: Lang) -> None:
    slides = slides_of(acted(lesson, lang).sheet)
    drawing = svg(slides.shown, lang=lang)
    root = ElementTree.fromstring(drawing)
    assert root.get("role") == "img"
    assert slides.shown.told in (root.get("aria-label") or "")
    measured = [series for series in slides.shown.series if not series.exact and series.mark != "rule"]
    assert not measured or slides.shown.bars, "error bars that nobody explains"


@EACH
def test_points_keep_their_point(lesson: Lesson) -> None:
    """Whatever the language, a CSV's numbers are numbers for every program."""
    for row in slides_of(acted(lesson, "fr").sheet).records():
        for column in ("y", "low", "high"):
            assert row[column] == "" or isinstance(float(row[column]), float)


@EACH
def test_french_is_typeset(lesson: Lesson) -> None:
    found = words_of(acted(lesson, "fr").sheet)
    assert slips(found) == []
    assert "'" not in found


@EACH
def test_both_languages_are_there(lesson: Lesson) -> None:
    """A sentence that was left in the other language shows by its little words."""
    french, english = words_of(acted(lesson, "fr").sheet), words_of(acted(lesson, "en").sheet)
    assert not re.search(r"\b(the|which|with|of)\b", french)
    assert not re.search(r"\b(les|des|une|avec|est)\b", english)
    assert not re.search(r"\d,\d(?!\d\d)", english)


@EACH
def test_students_do_not_see_the_answer(lesson: Lesson) -> None:
    done = acted(lesson, "en")
    folded = printed(lesson, done.terms, done.told, answers="folded")
    hidden = printed(lesson, done.terms, done.told, answers="hidden")
    key = done.told.answer[0]
    (answer,) = [block for block in folded.blocks if isinstance(block, Folded)]
    assert answer.blocks[0] == Paragraph(key)
    assert Paragraph(key) in done.sheet.blocks
    assert key not in str(hidden)


@EACH
def test_what_was_seeded_is_stamped(lesson: Lesson) -> None:
    done = acted(lesson, "fr")
    sheet = done.sheet
    heads = (
        plain(sheet).splitlines()[0],
        done.page.partition("<h1>")[0],
        json.loads(notebook(sheet))["cells"][0]["source"],
        tex(sheet, name="x")[0].partition(r"\LARGE")[0],
        svg(slides_of(sheet).shown),
    )
    assert [("TOY" in head) for head in heads] == [lesson.toy] * len(heads)


def test_production_noise_is_not_seeded() -> None:
    """A seed never meets a private value, whichever door it comes through."""
    with pytest.raises(NotAllowed, match="SF015"):
        Laplace(scale=1).release(Private(5), 1, source=ToySource(1))
    session = AboveThreshold(0, 1, 1).start(ToySource(1))
    with pytest.raises(NotAllowed, match="SF015"):
        session.ask(Private(5))
    assert isinstance(Laplace(scale=1).release(5, 1, source=ToySource(1)).value, int)


def test_the_curator_has_no_place_for_a_source() -> None:
    """No file of the curator, of the engines or of the questions names a source of noise."""
    package = ROOT.parent
    for folder in ("curator", "engines", "queries"):
        for path in (package / folder).rglob("*.py"):
            assert not re.search(r"noise\.source|import[^\n]*\bSystemSource|lessons|source=source", path.read_text()), (
                path.name
            )


@pytest.mark.parametrize("seed", [-1, 1 << 64])
def test_absurd_seeds_are_refused(seed: int) -> None:
    with pytest.raises(BadInput, match="seed"):
        named("mallory").terms(seed=seed)


@pytest.mark.parametrize("epsilon", ["0", "-1", "1e-9", "1000", "much", "nan"])
def test_absurd_prices_are_refused(epsilon: str) -> None:
    with pytest.raises(BadInput, match="epsilon"):
        named("mallory").terms(epsilon=epsilon)


def test_the_nearest_names_are_offered() -> None:
    with pytest.raises(BadInput, match="mallory"):
        named("malory")
    with pytest.raises(BadInput, match="lesson list"):
        named("")


@pytest.mark.slow
def test_csv_has_one_row_a_point() -> None:
    from sfumato.apps.cli.lesson import points

    sheet = acted(named("seuil"), "fr").sheet
    slides = slides_of(sheet)
    rows = list(csv.DictReader(io.StringIO(points(slides, sheet.stamp))))
    assert len(rows) == sum(len(series.points) for slide in slides.slides for series in slide.picture.series)
    assert {row["ε"] for row in rows} == {"0.05", "0.1", "0.5", "1"}
