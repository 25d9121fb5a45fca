"""`sfumato lesson` as people type it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def lesson(*words: str, lang: str = "C.UTF-8", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command, as a shell does: no terminal on either side."""
    env = {**{k: v for k, v in os.environ.items() if not k.startswith("LC_")}, "LANG": lang}
    start = "from sfumato.apps.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", start, "lesson", *words], capture_output=True, text=True, env=env, cwd=cwd
    )


def test_the_course_plan_follows_the_language() -> None:
    assert "Le salaire de Mallory" in lesson("list", lang="fr_FR.UTF-8").stdout
    assert "Mallory's salary" in lesson("list").stdout
    rows = json.loads(lesson("list", "--format", "json").stdout)
    assert {"order", "lesson", "minutes", "after", "note", "section"} <= set(rows[0])


def test_a_lesson_in_every_form(tmp_path: Path) -> None:
    files = {kind: tmp_path / "new" / f"x.{kind}" for kind in ("html", "svg", "csv", "notebook", "latex")}
    done = lesson("bruit", "--lang", "fr", *(word for kind, path in files.items() for word in (f"--{kind}", str(path))))
    assert (done.returncode, done.stdout) == (0, "")
    assert all(path.stat().st_size > 1000 for path in files.values())
    assert (tmp_path / "new" / "x-1.pdf").read_bytes().startswith(b"%PDF")
    assert str(files["html"]) in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("malory",), 2, "did you mean mallory"),
        (("mallory", "--epsilon", "0"), 2, "epsilon must be above 0"),
        (("mallory", "--epsilon", "1e9"), 2, "0.001 to 100"),
        (("bruit", "--epsilon", "2"), 2, "below 1"),
        (("mallory", "--seed", "-3"), 2, "seed"),
        (("mallory", "--output", "x"), 2, "--output is for"),
        (("all", "--seed", "3"), 2, "takes no option"),
    ],
)
def test_what_cannot_be_is_said_clearly(words: tuple[str, ...], code: int, said: str) -> None:
    done = lesson(*words)
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_place_that_cannot_be_written_is_said_before_anything_is_computed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = lesson("mallory", "--html", str(tmp_path / "file" / "x.html"))
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    assert not (tmp_path / "x.html").exists()
    done = lesson("mallory", "--svg", str(tmp_path))
    assert done.returncode == 2


@pytest.mark.slow
def test_the_whole_course(tmp_path: Path) -> None:
    from sfumato.lessons import LESSONS

    done = lesson("all", "--output", str(tmp_path / "course"), "--student")
    assert done.returncode == 0
    names = {path.name for path in (tmp_path / "course").iterdir()}
    assert names >= {f"{each.name}{ending}" for each in LESSONS for ending in (".html", ".svg", ".csv")}


@pytest.mark.slow
def test_an_extra_that_is_missing_costs_one_lesson(tmp_path: Path) -> None:
    """Without scikit-learn one mixture cannot be fitted; the lesson says what to install, and the course goes on."""
    start = (
        "import sys; sys.modules['sklearn'] = None\n"
        "from pathlib import Path; from sfumato.apps.cli.lesson import _all; from sfumato.lessons import named\n"
        "_all([named('pufferfish'), named('poids')], Path(sys.argv[1]), 'en', 'folded')"
    )
    done = subprocess.run([sys.executable, "-c", start, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "sfumato[mixtures]" in done.stderr
    assert not (tmp_path / "pufferfish.html").exists()
    assert (tmp_path / "poids.html").stat().st_size > 1000
