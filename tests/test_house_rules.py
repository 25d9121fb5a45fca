"""The habits of the house, as tests: layers, light imports, one key, no stray randomness, every mechanism listed and proved."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import sfumato
from sfumato.mechanisms import ALL, Mechanism

SOURCE = Path(sfumato.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))

UNSEALERS = {"core/private.py", "mechanisms/base.py"}
"""The files that may name `unseal`: its home, and mechanisms (which release). The curator adds none."""

RANDOM_MODULES = {"random", "secrets", "uuid"}
ONLY_IN = {
    "sqlglot": ("queries/sql/",),
    "duckdb": ("engines/duckdb.py", "curator/ingest.py", "curator/release/database.py"),
    "psycopg": (
        "engines/postgres.py",
        "engines/connection.py",
        "curator/ledger/postgres.py",
        "curator/release/database.py",
    ),
    "pyspark": ("engines/spark.py",),
    "dp_accounting": ("accounting/",),
    "sklearn": ("mechanisms/pufferfish/fit.py",),
    "altair": ("show/",),
    "jinja2": ("show/",),
    "rich": ("show/", "apps/"),
    "fastapi": ("apps/",),
    "starlette": ("apps/",),
    "uvicorn": ("apps/",),
    "click": ("apps/",),
}


def name_of(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def names_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} | {
        node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)
    }


def stray_randomness(path: Path) -> list[str]:
    """Imports and attributes that make random numbers outside of `noise/`."""
    found = [name for name in imports_of(path) if name.split(".")[0] in RANDOM_MODULES]
    text = path.read_text()
    found += re.findall(r"np\.random\.\w+|os\.urandom|numpy\.random", text)
    return found


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_randomness_comes_from_noise_only(path: Path) -> None:
    if name_of(path).startswith("noise/"):
        return
    found = stray_randomness(path)
    assert not found, f"{name_of(path)} makes its own randomness: {found}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_libraries_stay_where_they_belong(path: Path) -> None:
    for name in imports_of(path):
        homes = ONLY_IN.get(name.split(".")[0])
        assert homes is None or name_of(path).startswith(homes), f"{name_of(path)} imports {name}"


def test_the_box_is_opened_in_two_files_only() -> None:
    callers = {
        name_of(path) for path in FILES if "unseal" in names_in(path) or any("unseal" in n for n in imports_of(path))
    }
    callers |= {
        name_of(path) for path in FILES if re.search(r"\._value\b", path.read_text()) and "Private" in path.read_text()
    }
    assert callers <= UNSEALERS


def test_every_mechanism_file_is_listed() -> None:
    """A class that is a mechanism and is not in ALL would escape every contract."""
    for path in sorted((SOURCE / "mechanisms").rglob("*.py")):
        importlib.import_module(
            "sfumato." + name_of(path).removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        )
    found = {kind for kind in _concrete(Mechanism) if kind.__module__.startswith("sfumato.")}
    assert found == set(ALL)


def _concrete(kind: type) -> set[type]:
    subclasses: set[type] = set(kind.__subclasses__())
    return {each for each in subclasses if not inspect.isabstract(each)}.union(*map(_concrete, subclasses), set())


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_mechanism_has_its_proof(kind: type) -> None:
    assert "Proof:" in (kind.__doc__ or ""), f"{kind.__name__} states no proof"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_every_module_says_what_it_is(path: Path) -> None:
    doc = ast.get_docstring(ast.parse(path.read_text()))
    assert doc, f"{name_of(path)} has no docstring"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_unfinished_marks(path: Path) -> None:
    assert not re.search(r"\b(TODO|FIXME|XXX)\b|NotImplementedError", path.read_text())


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_drawers_without_a_name(path: Path) -> None:
    assert not {"utils", "helpers", "common", "manager", "misc"} & set(name_of(path).removesuffix(".py").split("/"))


def loaded_after(statement: str, *names: str) -> set[str]:
    """Which of these modules a fresh interpreter holds after `statement`."""
    code = f"{statement}\nimport sys; print(' '.join(n for n in {names!r} if n in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


HEAVY = (
    "numpy",
    "scipy",
    "dp_accounting",
    "sqlglot",
    "duckdb",
    "pyarrow",
    "pydantic",
    "altair",
    "rich",
    "jinja2",
    "click",
)


def test_importing_the_package_loads_nothing() -> None:
    assert loaded_after("import sfumato", *HEAVY, "cryptography", "narwhals", "pandas") == set()


def test_help_loads_no_numpy() -> None:
    statement = (
        "from click.testing import CliRunner\nfrom sfumato.apps.cli import cli\nCliRunner().invoke(cli, ['--help'])"
    )
    assert loaded_after(statement, *[name for name in HEAVY if name not in {"click", "rich"}]) == set()


def test_mechanisms_load_no_accounting_library() -> None:
    statement = "from sfumato.mechanisms import Laplace; Laplace(scale=2).release(1, sensitivity=1).loss.epsilon()"
    assert loaded_after(statement, "dp_accounting", "scipy.special", "scipy", "altair") == set()


def test_layers_hold() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()"],
        capture_output=True,
        text=True,
        cwd=SOURCE.parent.parent,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_public_names_resolve() -> None:
    for name in sfumato.__all__:
        assert getattr(sfumato, name) is not None
