"""Tokens, names of answers, rates, padding, leases, the wire: what strangers meet before any question is read."""

from __future__ import annotations

import itertools
import json
import stat
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.errors import (
    BadInput,
    BudgetExceeded,
    LedgerDamaged,
    NotAllowed,
    NotFound,
    NotSupported,
    SfumatoError,
)
from sfumato.curator.door import wire
from sfumato.curator.door.leases import MOST, Leases
from sfumato.curator.door.line import Line
from sfumato.curator.door.names import Names
from sfumato.curator.door.padding import Padding
from sfumato.curator.door.rates import Rates
from sfumato.curator.door.refusals import error_of, problem_of, status_of
from sfumato.curator.door.tokens import Role, Tokens
from sfumato.curator.home import Home
from sfumato.mechanisms import AboveThreshold


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    return Tokens(Home(tmp_path / "home"))


# -- tokens ------------------------------------------------------------------------------------------------------------


def test_only_a_hash_is_kept(tokens: Tokens, tmp_path: Path) -> None:
    made, text = tokens.create("ana", role=Role.ANALYST, datasets=["people"], days=90)
    secret = text.removeprefix(f"sfumato_{made.id}_")
    assert len(secret) == 43  # 256 bits
    file = tmp_path / "home" / "tokens.json"
    assert secret not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    found = tokens.find(text)
    assert found == made
    assert found is not None
    assert found.opens("d-1", "people")
    assert not found.opens("d-1", "others")


def test_what_is_not_the_token_opens_nothing(tokens: Tokens) -> None:
    made, text = tokens.create("ana", role=Role.ANALYST, datasets=["*"], days=1)
    other = tokens.create("bob", role=Role.ANALYST, datasets=["*"], days=1)[1]
    for wrong in (
        "",
        text[:-1],
        text + "A",
        text.upper(),
        text[:21] + other[21:],
        f"sfumato_{made.id}_",
        made.hash,
        "é",
    ):
        assert tokens.find(wrong) is None
    assert tokens.find(text) is not None


def test_revoked_and_expired_tokens_open_nothing(tokens: Tokens) -> None:
    made, text = tokens.create("ana", role=Role.OWNER, datasets=["*"], days=1)
    assert made.valid(datetime.now(UTC))
    assert not made.valid(datetime.now(UTC) + timedelta(days=1, seconds=1))
    elsewhere = Tokens(tokens._home)
    assert elsewhere.find(text) is not None
    tokens.revoke("ana")
    assert tokens.find(text) is None
    assert elsewhere.find(text) is None  # a server that runs sees it
    with pytest.raises(BadInput):
        tokens.revoke("ana")


@pytest.mark.parametrize("name", ["", "a b", "../x", "*", "-x", "x" * 65, "a\n", "é"])
def test_names_are_plain(tokens: Tokens, name: str) -> None:
    with pytest.raises(BadInput):
        tokens.create(name, role=Role.ANALYST, datasets=["*"], days=1)


def test_many_writers_lose_no_token(tokens: Tokens) -> None:
    def make(place: int) -> None:
        tokens.create(f"a{place}", role=Role.ANALYST, datasets=["*"], days=1)

    threads = [threading.Thread(target=make, args=(place,)) for place in range(12)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(tokens.list()) == 12


# -- names -------------------------------------------------------------------------------------------------------------

KEY = bytes(range(32))


@given(st.integers(1, 2**40), st.text(min_size=1, max_size=10), st.text(min_size=1, max_size=10))
def test_a_name_is_one_analysts(place: int, ana: str, bob: str) -> None:
    names = Names(KEY, "d-1")
    name = names.name(place, analyst=ana)
    assert names.place(name, analyst=ana) == place
    assert names.name(place, analyst=ana) == name
    if ana != bob:
        assert names.place(name, analyst=bob) is None
        assert names.name(place, analyst=bob) != name
    assert Names(KEY, "d-2").place(name, analyst=ana) is None
    assert Names(KEY[::-1], "d-1").place(name, analyst=ana) is None


def test_names_of_neighbouring_places_have_nothing_in_common() -> None:
    """Two random names of 39 letters agree at 20 places or more with probability below 1e-18."""
    names = Names(KEY, "d-1")
    made = [names.name(place, analyst="ana").removeprefix("a-") for place in range(1, 60)]
    assert {len(each) for each in made} == {39}
    for one, other in itertools.pairwise(made):
        assert sum(a == b for a, b in zip(one, other, strict=True)) < 20


@given(st.text(max_size=60))
def test_nonsense_has_no_place(text: str) -> None:
    assert Names(KEY, "d-1").place(text, analyst="ana") is None


# -- rates, padding, leases --------------------------------------------------------------------------------------------


def test_a_token_may_burst_and_then_has_its_rate() -> None:
    now = [0.0]
    rates = Rates(2.0, 5, clock=lambda: now[0])
    assert [rates.wait("a") for _ in range(5)] == [0.0] * 5
    assert rates.wait("a") == pytest.approx(0.5)
    assert rates.wait("b") == 0.0
    now[0] = 0.5
    assert rates.wait("a") == 0.0
    assert rates.wait("a") > 0
    now[0] = 1000.0
    assert sum(rates.wait("a") == 0.0 for _ in range(20)) == 5
    assert all(Rates(0, 1).wait("a") == 0.0 for _ in range(100))


@given(st.floats(0, 10), st.sampled_from([0.05, 0.25, 1.0]))
def test_padded_replies_take_whole_steps(elapsed: float, step: float) -> None:
    padding = Padding(step)
    total = (elapsed + padding.rest(elapsed)) / step
    assert abs(total - round(total)) < 1e-6
    assert round(total) == padding.steps(elapsed) >= 1
    assert Padding().rest(elapsed) == 0


def test_paddings_are_spelled() -> None:
    assert Padding.parse("250ms") == Padding(0.25)
    assert Padding.parse("1s") == Padding(1.0)
    for wrong in ("250", "-1s", "1h", ""):
        with pytest.raises(BadInput):
            Padding.parse(wrong)


def test_a_lease_is_one_analysts_and_ends(make: Any) -> None:
    now = [0.0]
    leases = Leases(60, clock=lambda: now[0])
    live = make().session("ana").start(AboveThreshold, threshold=500, epsilon=1)
    name = leases.take(live, analyst="ana")
    with leases.held(name, analyst="ana") as held:
        assert held is live
    assert leases.holds(name, analyst="ana")
    assert not leases.holds(name, analyst="bob")
    with pytest.raises(NotFound) as anothers, leases.held(name, analyst="bob"):
        pass
    with pytest.raises(NotFound) as nobodys, leases.held("m-none", analyst="bob"):
        pass
    assert str(anothers.value) == str(nobodys.value)
    now[0] = 61.0
    with pytest.raises(NotFound), leases.held(name, analyst="ana"):
        pass


def test_nobody_has_more_than_a_few_under_way(make: Any) -> None:
    session, leases = make().session("ana"), Leases()
    for _ in range(MOST):
        leases.take(session.start(AboveThreshold, threshold=500, epsilon="0.1"), analyst="ana")
    with pytest.raises(NotAllowed):
        leases.refuse_more("ana")
    leases.refuse_more("bob")


# -- the wire ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("accountant", ["pure", "zcdp"])
def test_terms_travel_whole(make: Any, accountant: str) -> None:
    terms = make(accountant=accountant).terms
    again = wire.terms_from_json(json.loads(json.dumps(wire.terms_to_json(terms))))
    assert again == terms


def test_terms_that_are_not_ours_are_refused(make: Any) -> None:
    body = wire.terms_to_json(make().terms)
    for wrong in (
        {},
        {**body, "schema": {"part": "Popen", "args": []}},
        {**body, "schema": {"part": "Table"}},
        {**body, "epsilon": "x"},
        {**body, "schema": None},
    ):
        with pytest.raises(SfumatoError):
            wire.terms_from_json(wrong)


def test_an_analyst_knows_no_book_but_their_own(make: Any) -> None:
    data = make(per_analyst="per_analyst = { ana = 2, bob = 3, default = 1 }")
    before = json.dumps(wire.left_to_json(data.ledger.left("ana"), "ana"))
    data.session("bob").ask("SELECT COUNT(*) FROM people", epsilon=3)
    data.session("carl").ask("SELECT COUNT(*) FROM people WHERE age > 3", epsilon=1)
    assert json.dumps(wire.left_to_json(data.ledger.left("ana"), "ana")) == before
    assert "bob" not in before
    assert wire.left_from_json(json.loads(before)).analyst.amount == 2


ERRORS: tuple[tuple[SfumatoError, int], ...] = (
    (NotSupported("no", hint="x", code="SF001"), 403),
    (NotSupported("no", hint="x", code="SF021"), 422),
    (NotAllowed("no", hint="x"), 403),
    (NotFound("no", hint="x"), 404),
    (BadInput("no", hint="x"), 422),
    (BudgetExceeded("no", hint="x", code="SF003", cost="1", left="0.5"), 409),
    (LedgerDamaged("no", hint="x", code="SF014"), 503),
)


@pytest.mark.parametrize(("error", "status"), ERRORS, ids=lambda each: str(each)[:30])
def test_errors_travel(error: SfumatoError, status: int) -> None:
    assert status_of(error) == status
    again = error_of(json.loads(json.dumps(problem_of(error))))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_what_the_ledger_complains_of_names_no_record() -> None:
    body = problem_of(LedgerDamaged("the chain breaks at record 1234", hint="x", code="SF013"))
    assert "1234" not in json.dumps(body)


def test_a_token_goes_to_no_stranger() -> None:
    for url in ("http://example.org", "ftp://localhost", "localhost:8000", "http://user@localhost"):
        with pytest.raises(BadInput):
            Line(url, token="t")
    for token in ("", "a b", "x\ny", "é"):
        with pytest.raises(BadInput):
            Line("https://example.org", token=token)
