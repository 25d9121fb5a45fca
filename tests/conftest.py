"""House rules of the test run itself: no silent skips when asked, the full counts recorded, a home of its own."""

from __future__ import annotations

import datetime
import itertools
import os
import platform
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

_HOMES = itertools.count()

settings.register_profile("sfumato", deadline=None, derandomize=False, print_blob=True)
settings.load_profile("sfumato")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--torture-record", default=None, help="append the outcome of torture tests to this Markdown file")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    outcome = yield
    report: pytest.TestReport = outcome.get_result()  # type: ignore[attr-defined]
    if report.skipped and os.environ.get("SFUMATO_NO_SKIPS") == "1" and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and SFUMATO_NO_SKIPS=1 allows no skip: {report.longrepr}"


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    record = config.getoption("--torture-record")
    if not record:
        return
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    day = datetime.date.today().isoformat()
    path = Path(record)
    if not path.exists():
        path.write_text(
            "# Full counts\n\nWritten by `make torture`: what issues ask to be run once in full.\n\n"
            "| date | commit | Python | test | outcome | seconds | counts |\n|---|---|---|---|---|---|---|\n"
        )
    with path.open("a") as out:
        for outcome in ("passed", "failed"):
            for report in terminalreporter.stats.get(outcome, []):
                counts = "; ".join(f"{name} {value}" for name, value in report.user_properties)
                name = report.nodeid.removeprefix("tests/")
                out.write(
                    f"| {day} | {commit} | {platform.python_version()} | {name} | {outcome} "
                    f"| {report.duration:.1f} | {counts} |\n"
                )


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys, heads and caches of a test never touch the user's own. The folder is made by whoever needs it: most do not."""
    monkeypatch.setenv("SFUMATO_HOME", str(tmp_path_factory.getbasetemp() / f"sfumato-home-{next(_HOMES)}"))


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A PostgreSQL server for the tests: the one that SFUMATO_TEST_POSTGRES names, or one of our own."""
    named = os.environ.get("SFUMATO_TEST_POSTGRES")
    if named:
        yield named
        return
    pytest.importorskip("psycopg", reason="PostgreSQL: pip install 'sfumato[postgres]'")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pgserver = pytest.importorskip(
            "pgserver", reason="PostgreSQL: pip install pgserver, or set SFUMATO_TEST_POSTGRES"
        )
        folder = tempfile.mkdtemp(prefix="sfumato-pg-")
        server = pgserver.get_server(folder, cleanup_mode="stop")
        server.psql("ALTER SYSTEM SET max_connections = 400")  # 16 processes of 16 threads, and whoever looks on
        server.cleanup()
        server = pgserver.get_server(folder, cleanup_mode="delete")
    yield f"host={folder} user=postgres"
    server.cleanup()
