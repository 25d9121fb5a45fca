"""Pages in a real browser: nothing is fetched, sliders move, and nothing is wider than the window."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sfumato.lessons import named
from sfumato.lessons.demo import act
from sfumato.lessons.handout import handout
from sfumato.show.page import page

pytestmark = pytest.mark.slow

_ALONE = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's Chromium, driven by playwright."""
    found = shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("pages in a browser: apt-get install chromium")
    api = pytest.importorskip("playwright.sync_api", reason="pages in a browser: pip install playwright")
    with api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=list(_ALONE))
        yield opened
        opened.close()


def seen(browser: Any, path: Path, *, dark: bool = False) -> tuple[Any, list[str]]:
    """The page, and every address that it asked for."""
    context = browser.new_context(viewport={"width": 900, "height": 1200}, color_scheme="dark" if dark else "light")
    view: Any = context.new_page()
    asked: list[str] = []
    view.on("request", lambda request: asked.append(request.url))
    view.on("pageerror", lambda error: pytest.fail(f"a script failed: {error}"))
    view.goto(path.as_uri())
    return view, asked


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return act(tmp_path_factory.mktemp("demo"), lang="en", said=lambda _: None, told=lambda _: None)


@pytest.mark.parametrize("dark", [False, True])
def test_the_report_of_the_demo(browser: Any, report: Path, dark: bool) -> None:
    view, asked = seen(browser, report, dark=dark)
    assert asked == [report.as_uri()]
    assert view.locator("h2").count() == 5
    assert view.locator("figure svg").count() == 2
    assert view.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    ink, paper = view.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    assert (brightness(ink) > brightness(paper)) == dark
    assert len(view.screenshot()) > 10_000


def brightness(colour: str) -> int:
    """The sum of red, green and blue of "rgb(1, 2, 3)"."""
    return sum(int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(",")[:3])


@pytest.mark.parametrize("lang", ["en", "fr"])
def test_the_slider_of_a_lesson_moves(browser: Any, tmp_path: Path, lang: Any) -> None:
    lesson = named("mallory")
    path = tmp_path / "mallory.html"
    path.write_text(page(handout(lesson, lesson.terms(lang=lang))), encoding="utf-8")
    view, asked = seen(browser, path)
    slider, output = view.locator("input[type=range]"), view.locator("output")
    before, shown = output.text_content(), view.locator("figure [data-at]:not([hidden])")
    assert shown.count() == 1
    first = shown.get_attribute("data-at")
    slider.focus()
    slider.press("Home")
    assert output.text_content() != before
    assert shown.count() == 1
    assert shown.get_attribute("data-at") != first
    assert asked == [path.as_uri()]
