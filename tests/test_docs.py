"""The documents say what is true: packages on the disk, commands in the help, Python in the README."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sfumato
from sfumato.apps.cli import COMMANDS

ROOT = Path(__file__).parent.parent
SOURCE = Path(sfumato.__file__).parent


def test_architecture_names_every_package_and_no_other() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    named = set(re.findall(r"^\| `(\w+)` \|", text, re.M))
    there = {path.name for path in SOURCE.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    assert named == there


def test_files_that_documents_name_exist() -> None:
    for document in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        text = document.read_text()
        for name in re.findall(r"`((?:src|tests|docs|benchmarks)/[\w./-]+\.\w+)`", text):
            assert (ROOT / name).exists(), f"{document.name} names {name}"
        for name in re.findall(
            r"`((?:core|noise|accounting|mechanisms|queries|engines|show|curator|audit)/[\w./]+\.py)`", text
        ):
            assert (SOURCE / name).exists(), f"{document.name} names {name}"


def test_every_command_of_the_readme_exists() -> None:
    for block in re.findall(r"```\n(.*?)```", (ROOT / "README.md").read_text(), re.S):
        for name in re.findall(r"^sfumato (\w+)", block, re.M):
            assert name in COMMANDS


def test_the_python_of_the_readme_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert len(blocks) == 2
    exec(compile(blocks[1], "README.md", "exec"), {})  # noqa: S102


@pytest.mark.parametrize("guide", ["weights", "pufferfish"])
def test_the_python_of_a_guide_runs(guide: str) -> None:
    """Its own assertions hold the figures that the text quotes."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / f"{guide}.md").read_text(), re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, f"{guide}.md", "exec"), {})  # noqa: S102


def test_decisions_are_numbered_once() -> None:
    numbers = [path.name[:3] for path in (ROOT / "docs" / "decisions").glob("[0-9]*.md")]
    assert len(numbers) == len(set(numbers)) > 0


def test_the_policy_that_is_shown_to_be_written_by_hand_is_one(tmp_path: Path) -> None:
    from sfumato.curator.policy.adopt import adopted

    (text,) = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "engines.md").read_text(), re.S)
    (tmp_path / "policy.toml").write_text(text)
    policy, wrong, _ = adopted(tmp_path / "policy.toml")
    assert policy is not None, wrong
