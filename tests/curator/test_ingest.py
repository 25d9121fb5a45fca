"""Copies of tables: the same exact answers under the same keys, of one version and one reading only, gone after a purge."""

from __future__ import annotations

import stat
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

from sfumato.core.errors import BadInput
from sfumato.curator.dataset import Dataset, open_dataset
from sfumato.curator.home import Home
from sfumato.curator.ingest import COUNTS, Copies
from sfumato.curator.policy import Policy
from sfumato.engines.base import Source
from sfumato.engines.duckdb import DuckDB
from sfumato.queries.bounded import bound
from sfumato.queries.ingested import Ingested
from sfumato.queries.sql.parse import parse

from .conftest import POLICY

QUESTIONS = (
    "SELECT COUNT(*) FROM people",
    "SELECT age, COUNT(*), SUM(hours), AVG(hours) FROM people GROUP BY age",
    "SELECT sex, COUNT(DISTINCT person_id), COUNT(*) FROM people GROUP BY sex",
    "SELECT COUNT(*) FROM people WHERE age > 40",
    "SELECT COUNT(*) FROM people WHERE notes IS NOT NULL AND age IS NOT NULL",
)


def text(version: str = "1", source: str = "csv:people.csv") -> str:
    filled = POLICY.format(epsilon="10", accountant="pure", max_rows=2, per_analyst="")
    filled = filled.replace('version = "1"', f'version = "{version}"')
    return filled.replace("[tables.people]\n", f'[tables.people]\nsource = "{source}"\n', 1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Units with one to seven rows, one without a name, and a column that the policy does not name."""
    people = [f"p{i % 7}" if i % 3 else f"q{i}" for i in range(300)] + [""]
    columns = {
        "person_id": people,
        "sex": ["FM?"[i % 3] for i in range(301)],
        "age": [i % 90 for i in range(301)],
        "hours": [i % 60 / 2 if i % 50 else None for i in range(301)],
        "notes": list(range(301)),
        "secret": ["do not copy me"] * 301,
    }
    csv.write_csv(pa.table(columns), tmp_path / "people.csv")
    (tmp_path / "policy.toml").write_text(text())
    Policy.load(tmp_path / "policy.toml").new_ledger(Home(tmp_path / "home"))
    return tmp_path


def copies(folder: Path) -> Copies:
    return Copies(Policy.load(folder / "policy.toml"), Home(folder / "home"))


def opened(folder: Path) -> Dataset:
    return open_dataset(folder / "policy.toml", home=Home(folder / "home"))


def exact(folder: Path, question: str, *, copied: bool) -> list[Any]:
    policy = Policy.load(folder / "policy.toml")
    sources: dict[str, Source] = policy.sources()
    ingested: dict[str, Ingested] = {}
    if copied:
        sources, ingested = copies(folder).sources(sources)
        assert ingested == {"people": Ingested(COUNTS, frozenset({"age", "notes"}))}
    engine, bounded = DuckDB(sources), bound(parse(question, policy.schema()), policy.schema())
    return [vector.tolist() for vector in bounded.vectors(engine.execute(bounded.sql("duckdb", ingested)))]


@pytest.mark.parametrize("question", QUESTIONS)
def test_exact_answers_do_not_change(folder: Path, question: str) -> None:
    before = exact(folder, question, copied=False)
    copies(folder).ingest("people")
    assert exact(folder, question, copied=True) == before


@pytest.mark.parametrize(("question", "spared"), list(zip(QUESTIONS, (True, True, False, False, True), strict=True)))
def test_whole_tables_are_not_counted_again(folder: Path, question: str, spared: bool) -> None:
    """A filter leaves fewer rows than the ingest counted, and so does a key when some rows have none or one not listed."""
    policy = Policy.load(folder / "policy.toml")
    bounded = bound(parse(question, policy.schema()), policy.schema())
    sql = bounded.sql("duckdb", {"people": Ingested(COUNTS, frozenset({"age", "notes"}))})
    assert (COUNTS in sql) == spared


def test_an_answer_given_before_is_replayed_from_the_copy(folder: Path) -> None:
    first = opened(folder).session("ana").ask(QUESTIONS[1], epsilon="0.5")
    copies(folder).ingest("people")
    (folder / "people.csv").unlink()  # only the copy can answer now
    again = opened(folder).session("ana").ask(QUESTIONS[1], epsilon="0.5")
    assert again.replayed
    assert again.rows == first.rows
    assert opened(folder).session("ana").ask(QUESTIONS[0], epsilon="0.5").rows


def test_a_copy_is_of_one_version_and_one_reading(folder: Path) -> None:
    file = copies(folder).ingest("people")
    for changed in (
        text("2"),
        text().replace('version = "1"', 'version = "1"\nmissing = ["?"]'),
        text().replace('values = ["F", "M"]', 'values = ["F", "M", "?"]'),
    ):
        (folder / "policy.toml").write_text(changed)
        other = copies(folder)
        found, counted = other.sources(other.policy.sources())
        assert bool(counted) == (changed == text())
        assert (found["people"].location == f"parquet:{file}") == bool(counted)


def test_a_new_copy_takes_the_place_of_older_ones(folder: Path) -> None:
    first = copies(folder).ingest("people")
    (folder / "policy.toml").write_text(text("2"))
    second = copies(folder).ingest("people")
    assert Home(folder / "home").copies() == [second]
    assert first != second


def test_a_copy_is_closed_to_others_and_holds_nothing_hidden(folder: Path) -> None:
    file = copies(folder).ingest("people")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    copied = pq.read_table(file)
    assert set(copied.column_names) == {"person_id", "sex", "age", "hours", "notes", COUNTS}
    units = copied.column("person_id").to_pylist()
    assert None not in units
    assert "" not in units
    assert sum(a != b for a, b in pairwise(units)) == len(set(units)) - 1, "a unit's rows are apart"
    assert b"do not copy me" not in file.read_bytes()


def test_a_copy_belongs_to_a_time_zone(folder: Path) -> None:
    """A moment's day was settled when the copy was made."""
    copies(folder).ingest("people")
    policy = (folder / "policy.toml").read_text()
    (folder / "policy.toml").write_text(policy.replace("[dataset]\n", '[dataset]\ntimezone = "Asia/Tokyo"\n', 1))
    there = copies(folder)
    assert there.sources(there.policy.sources())[1] == {}


def test_purge_leaves_no_copy(folder: Path) -> None:
    file = copies(folder).ingest("people")
    assert Home(folder / "home").purge() == [file]
    assert not file.exists()


def test_a_failed_copy_leaves_nothing(folder: Path) -> None:
    (folder / "policy.toml").write_text(text(source="csv:elsewhere.csv"))
    with pytest.raises(Exception, match="engine could not compute"):
        copies(folder).ingest("people")
    assert Home(folder / "home").copies() == []


@pytest.mark.parametrize("table", ["nobody", "people"])
def test_what_cannot_be_copied_is_said(folder: Path, table: str) -> None:
    (folder / "policy.toml").write_text(
        text()
        .replace('unit = "person_id"', "")
        .replace('kind = "person"', 'kind = "row"')
        .replace("max_rows = 2", "max_rows = 1")
    )
    with pytest.raises(BadInput):
        copies(folder).ingest(table)


def test_many_may_look_at_the_files_at_once(folder: Path) -> None:
    """Every charge looks, and the threads of a server charge at once: none takes another's draft away."""
    from concurrent.futures import ThreadPoolExecutor

    from sfumato.curator.seen_files import check

    policy = Policy.load(folder / "policy.toml")
    for n in range(20):
        home = Home(folder / f"home{n}")
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _, home=home: check(policy, home, ["people"]), range(8)))
        assert [each.suffix for each in (home.path / "seen").iterdir()] == [".json"]
