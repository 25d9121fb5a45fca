"""What a bound would cut off: estimated for a price, near the truth, and said only as a question would say it.

False alarms: bars of 99.99999999 % are missed with probability 1e-10 each.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

from sfumato.apps.cli import cli
from sfumato.core.errors import BadInput, BudgetExceeded, NotSupported
from sfumato.curator import suggest
from sfumato.curator.dataset import Dataset, open_dataset
from sfumato.curator.home import Home
from sfumato.curator.policy import Policy

POLICY = """
[dataset]
name = "stays"
id = "d-suggest"
version = "1"
size = 100000
[unit]
kind = "person"
max_rows = 10
{fact}
[budget]
epsilon = 20
[answers]
confidence = 0.9999999999
[tables.stays]
source = "parquet:stays.parquet"
unit = "patient"
[tables.stays.columns.days]
type = "integer"
range = [0, 1024]
[tables.stays.columns.word]
type = "text"
[tables.communes]
source = "parquet:stays.parquet"
public = true
[tables.communes.columns.days]
type = "integer"
"""


@pytest.fixture
def make(tmp_path: Path) -> Any:
    def made(fact: str = "") -> Dataset:
        at = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        at.mkdir()
        patients = [f"p{n}" for n in range(3000) for _ in range(1 + (n % 3 == 0) * 2 + (n % 100 == 0) * 37)]
        days = [1 + place % 8 + (place % 500 == 0) * 500 for place in range(len(patients))]
        words = ["secret"] * len(patients)
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"patient": patients, "days": days, "word": words}), at / "stays.parquet")
        (at / "policy.toml").write_text(POLICY.format(fact=fact))
        home = Home(at / "home")
        Policy.load(at / "policy.toml").new_ledger(home)
        return open_dataset(at / "policy.toml", home=home)

    return made


def counts() -> list[int]:
    return [1 + (n % 3 == 0) * 2 + (n % 100 == 0) * 37 for n in range(3000)]


def test_the_share_of_rows_cut_off_is_near_the_truth(make: Any) -> None:
    data = make()
    session = data.session("ana")
    found = suggest.max_rows(session, "stays", epsilon=5, bounds=[1, 3, 10, 50])
    rows = counts()
    whole = sum(min(n, 50) for n in rows)
    for kept in found.kept:
        truth = 1 - sum(min(n, int(kept.bound)) for n in rows) / whole
        assert kept.low <= truth <= kept.high
        assert kept.high - kept.low < 0.5
    assert found.kept[-1].cut == 0
    assert found.least("0.45") == 3
    assert data.ledger.totals().spent.amount == 5
    again = suggest.max_rows(session, "stays", epsilon=5, bounds=[50, 10, 3, 1])
    assert again.answer.replayed
    assert data.ledger.totals().spent.amount == 5


def test_missing_values_add_nothing_to_what_a_bound_keeps(tmp_path: Path) -> None:
    """Every value is 100, and ranges begin at -100: a bound of 512 cuts off nothing; what is missing is not the bound."""
    import pyarrow.parquet as pq

    text = POLICY.format(fact="").replace("range = [0, 1024]", "range = [-100, 1024]")
    (tmp_path / "policy.toml").write_text(text)
    home = Home(tmp_path / "home")
    Policy.load(tmp_path / "policy.toml").new_ledger(home)
    days = [100 if n % 2 else None for n in range(4000)]
    data = pa.table({"patient": [f"p{n}" for n in range(4000)], "days": days, "word": ["w"] * 4000})
    pq.write_table(data, tmp_path / "stays.parquet")
    session = open_dataset(tmp_path / "policy.toml", home=home).session("ana")
    found = suggest.column_range(session, "stays", "days", epsilon=20, bounds=[0, 512])
    at_zero, at_512, _ = found.kept
    assert at_512.low <= 0 <= at_512.high < 0.2
    assert at_zero.low <= 0.5 <= at_zero.high


def test_a_range_is_suggested_of_private_tables_only(make: Any) -> None:
    with pytest.raises(NotSupported, match="public"):
        suggest.column_range(make().session("ana"), "communes", "days", epsilon=1)


def test_the_share_of_a_sum_cut_off_is_near_the_truth(make: Any) -> None:
    session = make().session("ana")
    found = suggest.column_range(session, "stays", "days", epsilon=10, bounds=[8, 16, 512])
    assert [each.bound for each in found.kept] == [8, 16, 512, 1024]
    rows = [1 + place % 8 + (place % 500 == 0) * 500 for place in range(sum(counts()))]
    whole = sum(rows)
    for kept in found.kept:
        # Weights of patients beyond max_rows move the shares a little: they are of what the questions count.
        truth = 1 - sum(min(n, int(kept.bound)) for n in rows) / whole
        assert kept.low - 0.05 <= truth <= kept.high + 0.05
    assert len(suggest.column_range(session, "stays", "days", epsilon="0.5").kept) == 8


def test_what_is_bought_is_a_question_of_bounded_sums(make: Any) -> None:
    """One person with a million rows moves the sum for a bound of 5 by 5: the price says so before any row is read."""
    session = make().session("ana")
    preview = suggest.max_rows(session, "stays", epsilon=1, bounds=[5, 7]).answer.preview
    assert [each.l1 for each in preview.bounded.sensitivities] == [5, 7]
    assert preview.charge.amount == 1


def test_it_is_charged_and_refused_like_any_question(make: Any) -> None:
    session = make().session("ana")
    with pytest.raises(BudgetExceeded):
        suggest.max_rows(session, "stays", epsilon=30)
    for call, kind in (
        (lambda: suggest.max_rows(session, "nowhere", epsilon=1), NotSupported),
        (lambda: suggest.max_rows(session, "communes", epsilon=1), NotSupported),
        (lambda: suggest.max_rows(session, "stays", epsilon=1, bounds=[0, 5]), BadInput),
        (lambda: suggest.max_rows(session, "stays", epsilon=1, bounds=[5]), BadInput),
        (lambda: suggest.column_range(session, "stays", "word", epsilon=1), NotSupported),
        (lambda: suggest.column_range(session, "stays", "hidden", epsilon=1), NotSupported),
        (lambda: suggest.column_range(session, "stays", "days", epsilon=1, bounds=[5000]), BadInput),
        (lambda: suggest.column_range(session, "stays", "days", epsilon=1, bounds=["2.5"]), BadInput),
    ):
        with pytest.raises(kind):
            call()  # type: ignore[no-untyped-call]


def test_bars_hold_for_two_sums_at_once(make: Any) -> None:
    session = make().session("ana")
    assert suggest.max_rows(session, "stays", epsilon=1).answer.preview.confidence == 1 - Fraction(1, 2 * 10**10)


def test_bounds_around_the_policys_own(make: Any) -> None:
    found = suggest.max_rows(make().session("ana"), "stays", epsilon=1)
    assert [each.bound for each in found.kept] == [1, 2, 3, 5, 10, 20, 40]


def test_a_fact_changes_what_an_answer_calls_itself(make: Any) -> None:
    text = "SELECT COUNT(*) FROM stays"
    bound = make().session("ana").preview(text, epsilon=1)
    fact = make("max_rows_is_fact = true").session("ana").preview(text, epsilon=1)
    assert bound.counted == "stays, at most 10 per person"
    assert fact.counted == "all stays: no person has more than 10, says the policy"
    assert fact.bounded.tally == bound.bounded.tally


LINKED = """
[dataset]
name = "stays"
id = "d-linked"
version = "1"
[unit]
kind = "person"
max_rows = 2
max_rows_is_fact = true
[budget]
epsilon = 20
[tables.stays]
source = "parquet:stays.parquet"
unit = "patient"
[tables.diagnoses]
source = "parquet:diagnoses.parquet"
unit = "stay -> stays.stay"
"""


@pytest.fixture
def linked(tmp_path: Path) -> Any:
    """Everyone has two stays, and each stay `each` diagnoses."""
    import pyarrow.parquet as pq

    def made(each: int, text: str = LINKED) -> Dataset:
        stays = pa.table({"stay": list(range(200)), "patient": [f"p{n // 2}" for n in range(200)]})
        pq.write_table(stays, tmp_path / "stays.parquet")
        pq.write_table(pa.table({"stay": [n // each for n in range(200 * each)]}), tmp_path / "diagnoses.parquet")
        (tmp_path / "policy.toml").write_text(text)
        Policy.load(tmp_path / "policy.toml").new_ledger(Home(tmp_path / "home"))
        return open_dataset(tmp_path / "policy.toml", home=Home(tmp_path / "home"))

    return made


def test_a_fact_about_stays_is_none_about_what_leads_to_them(linked: Any) -> None:
    data = linked(8)
    session = data.session("ana")
    assert session.preview("SELECT COUNT(*) FROM stays", epsilon=1).counted.startswith("all stays")
    assert session.preview("SELECT COUNT(*) FROM diagnoses", epsilon=1).counted == "diagnoses, at most 2 per person"
    for table, fact in (("stays", True), ("diagnoses", False)):
        with data.publish(epsilon=1, edition=table) as release:
            release.question(f"SELECT COUNT(*) FROM {table}", name="n")
        assert release.certificate.body["protects"]["max_rows_is_fact"] is fact


@pytest.mark.parametrize(("each", "stops", "warned"), [(1, 0, 0), (8, 0, 1)])
def test_a_scan_counts_the_rows_that_links_lead_to(linked: Any, each: int, stops: int, warned: int) -> None:
    from sfumato.curator.policy.scan import scanned

    seen = scanned(linked(each).policy)
    assert (len(seen.problems), len(seen.warnings)) == (stops, warned)
    for error in seen.warnings:
        assert "of diagnoses has more than 2 rows" in error.message
        assert "sfumato suggest max_rows --table diagnoses" in error.hint


def test_a_scan_refuses_a_fact_that_is_false(linked: Any) -> None:
    from sfumato.curator.policy.scan import scanned

    (error,) = scanned(linked(1, LINKED.replace("max_rows = 2", "max_rows = 1")).policy).problems
    assert "some person of stays has more rows" in error.message


def test_the_command(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = make()
    monkeypatch.chdir(data.policy.folder)
    monkeypatch.setenv("SFUMATO_HOME", str(data.policy.folder / "home"))
    words = ["suggest", "max_rows", "--table", "stays", "--epsilon", "2", "--bounds", "1,3,40", "--as", "ana"]
    run = CliRunner().invoke(cli, words)
    assert run.exit_code == 0, run.output
    assert run.stdout.splitlines()[0].split() == ["bound", "cut", "off", "between", "and"]
    assert "spent 2" in run.stdout
    french = CliRunner().invoke(cli, [*words, "--lang", "fr"])
    assert "part coupée" in french.stdout
    wrong = CliRunner().invoke(cli, ["suggest", "range", "--table", "stays", "--epsilon", "2"])
    assert wrong.exit_code == 2
