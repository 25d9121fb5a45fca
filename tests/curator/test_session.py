"""Preview, ask, replay, refine, budget: what an analyst sees, and what it costs."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.errors import BadInput, BadPolicy, BudgetExceeded, EngineFailed, NotAllowed, NotSupported
from sfumato.curator.dataset import Dataset
from sfumato.curator.door import wire
from sfumato.curator.ledger.records import Charge
from sfumato.queries.answer import Estimate

BY_SEX = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"


def test_an_answer_is_near_the_truth_and_says_how_near(make: Any) -> None:
    """Three standard questions; each misses its bar of 99.99999999 % with probability 1e-10."""
    session = make().session("ana")
    a = session.ask(BY_SEX, epsilon=1, confidence="0.9999999999")
    truth = {"F": 666, "M": 334}
    for row in a.rows:
        assert row["n_low"] <= truth[row["sex"]] <= row["n_high"]
    m = session.ask("SELECT AVG(hours) AS h, COUNT(*) AS n FROM people", epsilon=2, confidence="0.9999999999").rows[0]
    hours = np.mean([i % 60 for i in range(1000)])
    assert m["h_low"] <= hours <= m["h_high"]
    assert m["n_low"] <= 1000 <= m["n_high"]


def test_preview_is_free_and_its_price_is_the_charge(make: Any) -> None:
    data = make()
    session = data.session("ana")
    preview = session.preview(BY_SEX, epsilon="0.1")
    assert data.ledger.totals().spent == Charge()
    answer = session.ask(preview)
    assert answer.preview is preview
    assert answer.charged == preview.charge == Charge(Fraction(1, 10))
    assert data.ledger.totals().spent == preview.charge
    assert preview.loss.epsilon() == 0.1


def test_the_same_question_replays_for_free_in_any_spelling(make: Any) -> None:
    data = make()
    session = data.session("ana")
    first = session.ask(BY_SEX, epsilon="0.1")
    again = session.ask("select  sex,\n count(*)  AS n from people group by 1", epsilon="0.1")
    frame = session.table("people").group_by("sex").agg(n=sf.count()).ask(epsilon="0.1")
    assert first.rows == again.rows == frame.rows
    assert again.replayed
    assert again.charged == Charge()
    assert data.ledger.totals().spent == Charge(Fraction(1, 10))


def test_what_is_done_after_the_release_is_free(make: Any) -> None:
    data = make()
    session = data.session("ana")
    session.ask(BY_SEX, epsilon="0.1")
    session.ask(BY_SEX + " ORDER BY n DESC LIMIT 1", epsilon="0.1")
    session.ask(BY_SEX + " HAVING COUNT(*) > 10", epsilon="0.1")
    assert data.ledger.totals().spent == Charge(Fraction(1, 10))


def test_another_price_is_another_question(make: Any) -> None:
    data = make()
    session = data.session("ana")
    session.ask(BY_SEX, epsilon="0.1")
    session.ask(BY_SEX, epsilon="0.2")
    assert data.ledger.totals().spent == Charge(Fraction(3, 10))


def test_a_replay_charges_the_receivers_book_once_and_names_nobody(make: Any) -> None:
    data = make()
    data.session("ana").ask(BY_SEX, epsilon="0.5")
    bob = data.session("bob").ask(BY_SEX, epsilon="0.5")
    assert data.ledger.totals().spent == Charge(Fraction(1, 2))
    assert bob.charged == Charge(Fraction(1, 2))
    assert "ana" not in json.dumps(bob.to_json())
    assert data.session("bob").ask(BY_SEX, epsilon="0.5").charged == Charge()


def test_the_budget_ends_questions_and_says_what_would_fit(make: Any) -> None:
    session = make(epsilon="1").session("ana")
    session.ask(BY_SEX, epsilon="0.7")
    with pytest.raises(BudgetExceeded) as caught:
        session.ask("SELECT AVG(hours) AS h FROM people", epsilon="0.5")
    assert caught.value.code == "SF003"
    assert (caught.value.cost, caught.value.left) == ("0.5", "0.3")
    assert "--epsilon 0.3 would fit: h ±" in caught.value.hint
    session.ask("SELECT AVG(hours) AS h FROM people", epsilon="0.3")


def test_each_analyst_has_a_cap(make: Any) -> None:
    data = make(epsilon="3", per_analyst="per_analyst = { default = 0.5, ana = 1 }")
    data.session("ana").ask(BY_SEX, epsilon=1)
    with pytest.raises(BudgetExceeded):
        data.session("bob").ask(BY_SEX, epsilon="0.6")


def test_several_questions_are_charged_all_or_none(make: Any) -> None:
    data = make(epsilon="1")
    session = data.session("ana")
    previews = [session.preview(BY_SEX, epsilon="0.6"), session.preview("SELECT COUNT(*) FROM people", epsilon="0.6")]
    with pytest.raises(BudgetExceeded):
        session.ask_all(previews)
    assert data.ledger.totals().spent == Charge()
    cheap = [session.preview(BY_SEX, epsilon="0.4"), session.preview("SELECT COUNT(*) FROM people", epsilon="0.4")]
    assert len(session.ask_all(cheap)) == 2


@pytest.mark.parametrize("accountant", ["pure", "zcdp"])
def test_accuracy_is_asked_for_and_paid(make: Any, accountant: str) -> None:
    session = make(accountant=accountant).session("ana")
    preview = session.preview("SELECT AVG(hours) AS h FROM people", within=2, at=1000)
    assert preview.within()["h"] <= 2
    cheaper = session.preview("SELECT AVG(hours) AS h FROM people", epsilon=preview.epsilon * Fraction(4, 5))
    assert cheaper.within()["h"] > 2
    answer = session.ask(preview)
    row = answer.rows[0]
    assert (row["h_high"] - row["h_low"]) / 2 == pytest.approx(2, rel=0.3)


@pytest.mark.slow
def test_bars_cover_as_often_as_they_say(make: Any) -> None:
    """300 asks at fresh prices: at 90 %, fewer than 240 hits has probability 4e-9 (counts) and no more for means."""
    data = make(epsilon="100000")
    session = data.session("ana")
    truth = {
        "n": 1000.0,
        "h": float(np.mean([i % 60 for i in range(1000)])),
        "v": float(np.var([i % 60 for i in range(1000)])),
    }
    hits = dict.fromkeys(truth, 0)
    question = "SELECT COUNT(*) AS n, AVG(hours) AS h, VAR_POP(hours) AS v FROM people"
    for i in range(300):
        row = session.ask(question, epsilon=Fraction(3) + Fraction(i, 1000), confidence="0.9").rows[0]
        for name, value in truth.items():
            hits[name] += row[f"{name}_low"] <= value <= row[f"{name}_high"]
    assert all(count >= 240 for count in hits.values()), hits


def test_zcdp_charges_rho(make: Any) -> None:
    data = make(accountant="zcdp", epsilon="1")
    answer = data.session("ana").ask(BY_SEX, epsilon="0.5")
    assert "Gaussian" in answer.preview.noise()
    assert list(answer.to_json()["spent"]) == ["rho", "delta"]
    spent = data.ledger.totals().spent
    assert spent.amount == sum((loss.zcdp() or (0, 0))[0] for loss in answer.preview.losses)
    with pytest.raises(BudgetExceeded):
        data.session("ana").ask(BY_SEX, epsilon="0.95")


def test_refining_pays_more_and_narrows_the_bar(make: Any) -> None:
    data = make()
    session = data.session("ana")
    first = session.ask(BY_SEX, epsilon="0.5")
    better = first.refine(epsilon="0.5")
    assert data.ledger.totals().spent == Charge(Fraction(1))
    width = [(a.rows[0]["n_high"] - a.rows[0]["n_low"]) / 2 for a in (first, better)]
    assert 0.5 < width[1] / width[0] < 0.85
    best = better.refine(epsilon=1)
    assert (best.rows[0]["n_high"] - best.rows[0]["n_low"]) / 2 < width[1]
    assert first.refine(epsilon="0.5").rows == better.rows


@pytest.mark.slow
def test_refined_bars_cover(make: Any) -> None:
    """200 refinements at 90 %: fewer than 150 hits has probability 1e-9."""
    session = make(epsilon="100000").session("ana")
    hits = 0
    for i in range(200):
        first = session.ask(
            "SELECT COUNT(*) AS n FROM people", epsilon=Fraction(1, 2) + Fraction(i, 1000), confidence="0.9"
        )
        row = first.refine(epsilon="0.3").rows[0]
        hits += row["n_low"] <= 1000 <= row["n_high"]
    assert hits >= 150


def test_an_answer_goes_everywhere(make: Any) -> None:
    a = make().session("ana").ask("SELECT sex, COUNT(*) AS n, AVG(hours) AS h FROM people GROUP BY sex", epsilon=1)
    names = ["sex", "n", "n_low", "n_high", "n_unbiased", "h", "h_low", "h_high", "h_unbiased"]
    assert a.to_arrow().column_names == names
    assert list(a.to_pandas().columns) == names
    assert a.to_polars().columns == names
    body = json.loads(json.dumps(a.to_json()))
    assert body["columns"] == ["sex", "n", "h"]
    assert isinstance(body["rows"][0][1], int)
    assert body["spent"] == {"epsilon": "1", "delta": "0"}
    assert body["counted"] == "people, at most 1 per person"
    assert "±" in repr(a)
    assert "±" in a._repr_html_()
    assert a.plot().to_dict()["vconcat"]


def test_a_number_is_never_printed_bare(make: Any) -> None:
    text = repr(make().session("ana").ask("SELECT COUNT(*) AS n, SUM(hours) AS s FROM people", epsilon=1))
    assert text.split("\n")[1].count("±") == 2
    assert "noise only" in text


def test_no_price_is_no_answer(make: Any) -> None:
    session = make().session("ana")
    for terms in ({}, {"epsilon": 1, "within": 1}):
        with pytest.raises(NotSupported) as caught:
            session.ask(BY_SEX, **terms)
        assert caught.value.code == "SF004"


@pytest.mark.parametrize("bad", [0, -1, "nan", float("inf"), "much"])
def test_senseless_prices_are_refused(make: Any, bad: Any) -> None:
    with pytest.raises(BadInput):
        make().session("ana").ask(BY_SEX, epsilon=bad)


def test_an_engine_that_fails_after_the_charge_says_one_sentence_and_freezes(make: Any, monkeypatch: Any) -> None:
    data = make()

    class Broken:
        dialect = "duckdb"

        def look(self) -> None:
            pass

        def execute(self, sql: str) -> Any:
            from sfumato.engines.base import failure

            raise failure()

    data._engine = Broken()
    session = data.session("ana")
    with pytest.raises(EngineFailed, match="not shown") as failed:
        session.ask(BY_SEX, epsilon=1)
    for told in ("charge stays", "frozen until the owner has looked", "`sfumato unfreeze ana`"):
        assert told in str(failed.value)
    assert data.ledger.totals().spent == Charge(Fraction(1))
    with pytest.raises(NotAllowed, match="frozen") as frozen:
        session.ask(BY_SEX, epsilon=1)
    assert "because the engine failed" in str(frozen.value)
    assert "`sfumato unfreeze ana`" in str(frozen.value)
    data._engine = None
    data.ledger.freeze("ana", frozen=False, reason="looked into it")
    assert session.ask(BY_SEX, epsilon=1).rows
    assert data.ledger.totals().spent == Charge(Fraction(1)), "what was paid for is taken over, not paid again"


def test_a_table_whose_rows_nobody_gave_is_refused_before_the_charge(make: Any) -> None:
    given = make()
    data = Dataset(given.policy, ledger=given.ledger, copies=given._copies)
    session = data.session("ana")
    assert session.preview(BY_SEX, epsilon=1).within(), "pricing needs no rows"
    with pytest.raises(BadPolicy, match="no source for table people"):
        session.ask(BY_SEX, epsilon=1)
    with pytest.raises(BadPolicy), data.publish(epsilon=1) as release:
        release.counts("sex")
    totals = data.ledger.totals()
    assert (totals.spent, totals.frozen) == (Charge(), ())
    given.session("ana").ask(BY_SEX, epsilon=1)
    assert session.ask(BY_SEX, epsilon=1).replayed, "an answer given before needs no rows"


def test_the_experience_snippets(make: Any) -> None:
    people = make().session(analyst="ana").table("people")
    q = people.group_by("sex").agg(n=sf.count(), hours=sf.mean("hours"))
    same = people.sql("SELECT sex, COUNT(*) AS n, AVG(hours) AS hours FROM people GROUP BY sex")
    assert q.plan == same.plan
    q.preview(within="1.0", at=1000)
    a = q.ask(epsilon="0.25")
    assert a.refine(epsilon="0.10").rows
    assert people.filter(sex="F").filter("age >= ?", 40).mean("hours").ask(epsilon="0.25").rows


def test_units_with_many_rows_count_at_most_as_bounded(make: Any) -> None:
    import pyarrow as pa

    many = pa.table(
        {
            "person_id": ["one"] * 500 + [f"p{i}" for i in range(100)],
            "sex": ["F"] * 600,
            "age": [1] * 600,
            "hours": [1.0] * 600,
            "notes": [1] * 600,
        }
    )
    a = make(max_rows=3, data=many, epsilon="1000").session("ana").ask("SELECT COUNT(*) AS n FROM people", epsilon=500)
    assert a.rows[0]["n"] == pytest.approx(103, abs=2)
    assert "at most 3 per person" in a.to_json()["counted"]


@pytest.mark.parametrize(
    ("said", "cut"),
    [
        ("", True),
        ("[answers]\nconfidence = 0.9\n", True),
        ('[answers]\npost_process = ["nonnegative"]\n', True),
        ("[answers]\npost_process = []\n", False),
    ],
)
def test_the_policy_says_whether_counts_stop_at_zero(make: Any, said: str, cut: bool) -> None:
    """101 groups of nobody: that none is below zero has probability under 1e-9."""
    data = make(answers=said)
    session = data.session("ana")
    text = "SELECT age, COUNT(*) AS n, AVG(hours) AS h FROM people WHERE hours > 98 GROUP BY age"
    answer = session.ask(f"{text} ORDER BY n", epsilon="0.1")
    unbiased = [row["n_unbiased"] for row in answer.rows]
    assert min(unbiased) < 0
    assert "SF020" in str(answer)
    if cut:
        assert min(row["n"] for row in answer.rows) == 0
        assert all(row["h"] is None or 0 <= row["h"] <= 99 for row in answer.rows)
    else:
        assert [row["n"] for row in answer.rows] == [math.floor(each + 0.5) for each in unbiased]
        assert unbiased == sorted(unbiased), "what is shown is what was sorted by"
        assert all(row["h"] == row["h_unbiased"] for row in answer.rows)
    assert all(row["n_low"] < row["n_unbiased"] < row["n_high"] for row in answer.rows)
    below = session.ask(f"{text} HAVING COUNT(*) < 0", epsilon="0.1")
    assert below.replayed
    assert bool(below.rows) != cut
    again = session.refine(answer, epsilon="0.1")
    assert (min(row["n"] for row in again.rows) < 0) != cut
    whole = session.ask(text.replace(", AVG(hours) AS h", ""), epsilon="0.1").total("n")
    assert whole.unbiased is not None
    assert whole.value == (max(Fraction(0), whole.unbiased) if cut else whole.unbiased)
    there = wire.terms_from_json(json.loads(json.dumps(wire.terms_to_json(data.terms))))
    assert there.nonnegative == data.terms.nonnegative == cut


@pytest.mark.parametrize("accountant", ["pure", "zcdp"])
def test_what_a_notebook_prints_is_a_few_words(make: Any, accountant: str) -> None:
    """Previews, questions, frames, budgets and estimates printed their whole plans and fractions."""
    session = make(accountant=accountant).session("ana")
    sign = "ε" if accountant == "pure" else "ρ"
    preview = session.preview(BY_SEX, epsilon="0.5")
    said = repr(preview).splitlines()
    assert said[0].startswith(f" cost      {sign} ")
    assert [line.split()[0] for line in said] == ["cost", "within", "counted", "cells", "noise"]
    assert repr(session.sql(BY_SEX)) == (
        "a question for sex, n: .preview(epsilon=...) is free, .ask(epsilon=...) is charged"
    )
    table = session.table("people")
    assert repr(table).startswith("rows of people (")
    assert "twice" in repr(table.with_columns(twice="2 * age"))
    answer = session.ask(preview)
    assert re.fullmatch(rf"{sign} \S+ left, \S+ spent", repr(session.left()))
    assert re.fullmatch(r"-?\d+(\.\d+)? ±\d+(\.\d+)?", repr(answer.compare("F", "M")))
    assert re.fullmatch(r"\d+(\.\d+)? ±\d+(\.\d+)?", repr(answer.total()))
    assert repr(Estimate(Fraction(0), Fraction(-31, 10), Fraction(4))) == "0.0 ±4.0 (unbiased -3.1)"
    assert repr(Estimate(None, None)) == "no estimate"
    for each in (preview, session.sql(BY_SEX), table, session.left(), answer.total()):
        assert "Fraction" not in repr(each)
        assert len(repr(each)) < 500


PER_PERSON = "(SELECT person_id, COUNT(*) AS n, SUM(hours) AS s, MAX(age) AS a FROM people GROUP BY person_id)"


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (
            "SELECT AVG(n) AS m FROM {}",
            "; COUNT(*) of each limited to 3 (max_rows): LEAST(COUNT(*), 6) sets another limit",
        ),
        (
            "SELECT AVG(n * 2) AS m FROM {}",
            "; COUNT(*) of each limited to 3 (max_rows): LEAST(COUNT(*), 6) sets another limit",
        ),
        (
            "SELECT n, COUNT(*) AS c FROM {} GROUP BY n",
            "; COUNT(*) of each limited to 3 (max_rows): LEAST(COUNT(*), 6) sets",
        ),
        ("SELECT AVG(s) AS m FROM {}", "; SUM(hours) of each limited to 297 (max_rows): LEAST(SUM(hours), 594) sets"),
        ("SELECT SUM(s - 1) AS m FROM {} WHERE n < 9", "; SUM(hours) of each limited to 297 (max_rows)"),
        ("SELECT AVG(LEAST(n, 20)) AS m FROM {}", ": nobody is cut off"),
        ("SELECT COUNT(*) AS c FROM {} WHERE n > 2", ": nobody is cut off"),
        ("SELECT AVG(a) AS m FROM {}", ": nobody is cut off"),
    ],
)
def test_an_answer_names_what_is_limited_inside_a_person(make: Any, question: str, said: str) -> None:
    """The mean of 12 rows here and 2 there was one of 10 and 2, and "nobody is cut off"."""
    preview = make(max_rows=3).session("ana").preview(question.format(PER_PERSON), epsilon=1)
    assert f"people, one row per person{said}" in preview.counted
    if said.startswith(":"):
        assert preview.counted.endswith(said)


def test_the_limit_that_an_answer_names_can_be_set(make: Any) -> None:
    text = PER_PERSON.replace("COUNT(*)", "LEAST(COUNT(*), 6)")
    preview = make(max_rows=3).session("ana").preview(f"SELECT AVG(n) AS m FROM {text}", epsilon=1)
    assert preview.counted.endswith("nobody is cut off")
    assert preview.bounded.tally.statistics[0].high == 6


def test_an_answer_of_many_cells_is_spelled_out_in_linear_work(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """20 000 cells: which columns carry noise is found in one pass, not once for each row (which took hours for a million)."""
    answer = make().session("ana").ask(BY_SEX, epsilon=1)
    cell = answer.result.rows[0][1]
    looked = 0

    class Row(tuple[Any, ...]):
        def __iter__(self) -> Iterator[Any]:
            nonlocal looked
            looked += 1
            return super().__iter__()

    many = replace(answer, result=replace(answer.result, rows=tuple(Row((f"g{i}", cell)) for i in range(20_000))))
    for spelled in (lambda: many.rows, many.to_arrow, many.to_json, lambda: str(many), many._repr_html_):
        looked = 0
        assert spelled()
        assert looked <= 8 * 20_000
    assert many.to_arrow().num_rows == 20_000
    monkeypatch.setattr(type(many), "to_json", counted := Counted(type(many).to_json))
    monkeypatch.setattr(type(many), "rows", property(made := Counted(type(many).rows.fget)))
    assert str(many)
    assert counted.times == 1
    assert made.times <= 2


class Counted:
    """A function that counts its calls."""

    def __init__(self, function: Any) -> None:
        self.function, self.times = function, 0

    def __get__(self, of: Any, kind: Any = None) -> Any:
        return partial(self, of)

    def __call__(self, *given: Any) -> Any:
        self.times += 1
        return self.function(*given)
