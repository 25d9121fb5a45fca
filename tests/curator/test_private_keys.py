"""Private keys, from the question to what is printed: groups above a threshold, no word of how many are withheld."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, final

import pyarrow as pa
import pytest

from sfumato.accounting import Loss, PureFilter
from sfumato.core.errors import BadInput, NotSupported
from sfumato.core.neighbours import Neighbours
from sfumato.curator.dataset import Dataset, open_dataset
from sfumato.curator.home import Home
from sfumato.curator.keys import stated
from sfumato.curator.policy import Policy
from sfumato.mechanisms import GaussianKeys, GeometricKeys, LaplaceKeys

POLICY = """
[dataset]
name = "visits"
id = "d-keys"
version = "1"
size = 100000
[unit]
kind = "person"
max_rows = {max_rows}
max_groups = {max_groups}
[budget]
epsilon = 10
delta = {delta}
accountant = "{accountant}"
[tables.visits]
unit = "person"
[tables.visits.columns.zip]
type = "text"
values = "private"
null = "{null}"
[tables.visits.columns.day]
type = "date"
values = "private"
[tables.visits.columns.sex]
values = ["F", "M"]
[tables.visits.columns.cost]
type = "integer"
range = [0, 100]
[tables.visits.columns.note]
type = "text"
"""


def visits() -> Any:
    """2 000 people in zip "big", 700 in NULL, 300 in "mid" twice each, 1 in "rare", and one person in 500 zips."""
    rows: list[tuple[Any, ...]] = [(f"b{n}", "big", "FM"[n % 2], 50) for n in range(2000)]
    rows += [(f"n{n}", None, "F", 10) for n in range(700)]
    rows += [(f"m{n}", "mid", "M", 20) for n in range(300) for _ in range(2)]
    rows += [("r", "rare", "F", 99)] + [("x", f"z{n}", "F", 1) for n in range(500)]
    names = ("person", "zip", "sex", "cost")
    table = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    return pa.table(table | {"day": pa.array([None] * len(rows), pa.date32()), "note": ["secret"] * len(rows)})


@pytest.fixture
def make(tmp_path: Path) -> Any:
    def made(
        *, accountant: str = "pure", delta: str = "1e-6", max_rows: int = 2, max_groups: int = 5, null: str = "drop"
    ) -> Dataset:
        at = tmp_path / str(len(list(tmp_path.iterdir())))
        at.mkdir()
        path = at / "policy.toml"
        path.write_text(
            POLICY.format(accountant=accountant, delta=delta, max_rows=max_rows, max_groups=max_groups, null=null)
        )
        home = Home(at / "home")
        Policy.load(path).new_ledger(home)
        return open_dataset(path, {"visits": visits()}, home=home)

    return made


@pytest.mark.parametrize("accountant", ["pure", "zcdp"])
def test_large_groups_are_told_and_small_ones_are_not(make: Any, accountant: str) -> None:
    """Half of the budget: "big" and "mid" stand hundreds of scales above the threshold, a group of one below all luck.

    False alarms: below 1e-9, by the exact tails of the noise.
    """
    session = make(accountant=accountant).session("ana")
    answer = session.ask("SELECT zip, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY zip", epsilon=5)
    assert [row["zip"] for row in answer.rows] == ["big", "mid"]
    assert 1500 < answer.rows[0]["n"] < 2500
    assert 45 < answer.rows[0]["c"] < 55
    threshold = answer.preview.threshold
    said = str(answer)
    assert f"groups held by few people are withheld below the threshold {threshold} (how many is not said)" in said
    assert "501" not in said
    assert "502" not in said


def test_an_answer_says_in_how_many_groups_each_person_counts(make: Any) -> None:
    """Rows in further groups are left out: whoever reads a count has to know."""
    session = make(max_groups=7).session("ana")
    preview = session.preview("SELECT zip, COUNT(*) AS n FROM visits GROUP BY zip", epsilon=5)
    assert preview.counted == "visits, at most 2 per person; each person in at most 7 groups (max_groups)"
    assert "each person in at most 7 groups" in str(session.ask(preview))
    assert "groups" not in session.preview("SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex", epsilon=5).counted
    each = "(SELECT person, FIRST(zip ORDER BY cost) AS z, COUNT(*) AS n FROM visits GROUP BY person)"
    alone = session.preview(f"SELECT z, COUNT(*) AS c, AVG(n) AS m FROM {each} GROUP BY z", epsilon=5).counted
    assert alone.startswith("visits, one row per person; COUNT(*) of each limited to 2 (max_rows)")
    assert "groups" not in alone


def test_missing_values_are_a_private_group_too(make: Any) -> None:
    session = make(null="group").session("ana")
    answer = session.ask("SELECT zip, COUNT(DISTINCT person) AS n FROM visits GROUP BY zip", epsilon=5)
    assert {row["zip"] for row in answer.rows} == {"big", "mid", None}


def test_public_and_private_keys_together(make: Any) -> None:
    session = make().session("ana")
    answer = session.ask("SELECT sex, zip, COUNT(*) AS n FROM visits GROUP BY sex, zip ORDER BY n DESC", epsilon=5)
    assert {(row["sex"], row["zip"]) for row in answer.rows} == {("F", "big"), ("M", "big"), ("M", "mid")}


def test_keys_alone_are_a_question(make: Any) -> None:
    session = make().session("ana")
    preview = session.preview("SELECT zip FROM visits GROUP BY zip", epsilon=5)
    assert [row["zip"] for row in session.ask(preview).rows] == ["big", "mid"]
    with pytest.raises(NotSupported, match="the keys are public"):
        session.preview("SELECT sex FROM visits GROUP BY sex", epsilon=1)


def test_a_question_takes_as_much_of_delta_as_of_epsilon(make: Any) -> None:
    data = make()
    session = data.session("ana")
    preview = session.preview("SELECT zip, COUNT(*) FROM visits GROUP BY zip", epsilon=1)
    assert preview.charge.amount == 1
    assert Fraction(9, 10**8) < preview.charge.failure <= Fraction(1, 10**7)
    answer = session.ask(preview)
    assert answer.charged == preview.charge
    assert data.ledger.totals().spent.failure == preview.charge.failure
    more = session.preview("SELECT zip, COUNT(*) FROM visits GROUP BY zip", epsilon=1, delta="5e-7")
    assert more.threshold < preview.threshold
    with pytest.raises(BadInput) as caught:
        session.preview("SELECT zip, COUNT(*) FROM visits GROUP BY zip", epsilon=1, delta="2e-6")
    assert caught.value.code == "SF007"


def test_the_whole_budget_fits_exactly(make: Any) -> None:
    """Ten questions at a tenth of the budget each: neither epsilon nor delta runs out before the other."""
    session = make().session("ana")
    for n in range(10):
        session.ask(f"SELECT zip, COUNT(*) FROM visits WHERE cost >= {n} GROUP BY zip", epsilon=1)
    assert session.left().analyst.amount == 0


def test_the_lowest_threshold_is_chosen(make: Any) -> None:
    def kind(session: Any, text: str) -> Any:
        return type(session.preview(text, epsilon=1).mechanisms[0])

    many = make().session("ana")
    assert kind(many, "SELECT zip, COUNT(*) FROM visits GROUP BY zip") is GaussianKeys
    few = make(max_groups=1).session("ana")
    assert kind(few, "SELECT zip, SUM(cost) FROM visits GROUP BY zip") is GeometricKeys
    assert kind(few, "SELECT zip, COUNT(DISTINCT person) FROM visits GROUP BY zip") is LaplaceKeys


def test_a_number_of_people_is_bought_once(make: Any) -> None:
    """COUNT(DISTINCT person) is what groups are told by: nothing else is charged for it."""
    session = make().session("ana")
    preview = session.preview("SELECT zip, COUNT(DISTINCT person) FROM visits GROUP BY zip", epsilon=1)
    assert len(preview.mechanisms) == 1
    assert len(session.preview("SELECT zip, COUNT(*) FROM visits GROUP BY zip", epsilon=1).mechanisms) == 2


def test_an_answer_is_replayed_as_it_was(make: Any) -> None:
    session = make().session("ana")
    text = "SELECT zip, COUNT(*) AS n FROM visits GROUP BY zip"
    first, again = session.ask(text, epsilon=5), session.ask(text, epsilon=5)
    assert again.replayed
    assert again.rows == first.rows
    with pytest.raises(NotSupported, match="cannot be pooled"):
        first.refine(epsilon=1)


def test_no_group_at_all_is_an_answer(make: Any) -> None:
    session = make().session("ana")
    answer = session.ask("SELECT zip, COUNT(*) AS n, AVG(cost) FROM visits WHERE cost = 99 GROUP BY zip", epsilon=1)
    assert answer.rows == []
    assert answer.to_arrow().num_rows == 0
    assert "withheld" in str(answer)


def test_without_delta_there_are_no_private_keys(make: Any) -> None:
    session = make(delta="0").session("ana")
    with pytest.raises(NotSupported) as caught:
        session.preview("SELECT zip, COUNT(*) FROM visits GROUP BY zip", epsilon=1)
    assert "delta" in str(caught.value)
    with pytest.raises(BadInput, match="public"):
        make().session("ana").preview("SELECT sex, COUNT(*) FROM visits GROUP BY sex", epsilon=1, delta="1e-7")


@pytest.mark.parametrize("key", ["note", "zip || note"])
def test_a_column_that_is_not_declared_private_stays_closed(make: Any, key: str) -> None:
    with pytest.raises(NotSupported) as caught:
        make().session("ana").preview(f"SELECT {key}, COUNT(*) FROM visits GROUP BY 1", epsilon=1)
    assert caught.value.code == "SF005"


def test_frames_ask_the_same(make: Any) -> None:
    import sfumato as sf

    session = make().session("ana")
    framed = session.table("visits").group_by("zip").agg(n=sf.count()).preview(epsilon=1)
    written = session.preview("SELECT zip, COUNT(*) AS n FROM visits GROUP BY zip", epsilon=1)
    assert framed.key == written.key


@final
class Cliff(Loss):
    """A delta of 1 % below an epsilon of a tenth, and of 1 in 1000 from there on."""

    about = Neighbours.ADD_REMOVE
    failure = Fraction(0)

    def delta(self, epsilon: float) -> float:
        return 0.001 if Fraction(epsilon) > Fraction(1, 10) else 0.01

    def renyi(self, order: float) -> float:
        return float("inf")

    def zcdp(self) -> None:
        return None

    def pure(self) -> None:
        return None

    def describe(self) -> Mapping[str, str]:
        return {"kind": "cliff"}


def test_a_delta_is_stated_at_the_epsilon_that_is_charged_and_not_at_a_float_above_it() -> None:
    """The float 0.1 is more than a tenth: what is charged with a tenth is the delta of a tenth or less."""
    share = Fraction(1, 10)
    assert Fraction(float(share)) > share
    charged = stated(Cliff(), share=share, budget=PureFilter(Fraction(1), Fraction(1, 10))).pure()
    assert charged is not None
    assert charged[0] == share
    assert charged[1] >= Fraction(1, 100)
