"""The contract of a ledger, whatever database carries it: `check_ledger(make)` with a function that gives a new Ledger."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path

from sfumato.core.errors import BadPolicy, BudgetExceeded, NotAllowed, SfumatoError
from sfumato.curator.ledger.ledger import Committed, Ledger, Reserved
from sfumato.curator.ledger.records import Caps, Charge


def caps(
    total: str,
    analyst: str | None = None,
    *,
    accountant: str = "pure",
    failure: str = "0",
    about: Mapping[str, str] | None = None,
) -> Caps:
    """A cap on the total, and one for each analyst."""
    cap = Charge(Fraction(total), Fraction(failure))
    analysts = {"default": Charge(Fraction(analyst), Fraction(failure))} if analyst else {}
    return Caps(accountant, cap, analysts, about or {})


def check_ledger(make: Callable[[Caps], Ledger]) -> None:
    """Raise AssertionError at the first promise of the books that is not kept."""
    tenth = Charge(Fraction(1, 10))
    ledger = make(caps("1", "0.3"))

    first = ledger.reserve("q1", analyst="ana", charge=tenth, what={"question": "one"})
    assert isinstance(first, Reserved), "a new question is reserved"
    assert ledger.totals().spent == tenth, "the charge is there before the answer"

    second = ledger.reserve("q1", analyst="ana", charge=tenth, what={})
    assert isinstance(second, Reserved), "a reserved question is taken over"
    assert ledger.totals().spent == tenth, "taking over costs nothing"
    assert ledger.commit(first, {"value": "41"}) is None, "who was overtaken cannot commit"
    done = ledger.commit(second, {"value": "42"})
    assert done is not None, "the owner commits"
    assert done.answer == {"value": "42"}
    late = ledger.commit(second, {"value": "43"})
    assert late is not None, "the stored answer comes back"
    assert late.answer == {"value": "42"}, "an answer is stored once"

    again = ledger.reserve("q1", analyst="ana", charge=tenth, what={})
    assert isinstance(again, Committed), "a committed question replays"
    assert again.replayed
    assert again.answer == {"value": "42"}
    assert ledger.totals().book("ana") == tenth, "a replay is free for who has paid"

    bob = ledger.reserve("q1", analyst="bob", charge=tenth, what={})
    assert isinstance(bob, Committed), "a replay serves others too"
    assert ledger.totals().spent == tenth, "a replay costs the total nothing"
    assert ledger.totals().book("bob") == tenth, "a replay charges the receiver's book"
    ledger.reserve("q1", analyst="bob", charge=tenth, what={})
    assert ledger.totals().book("bob") == tenth, "and charges it once"

    for name in ("q2", "q3"):
        ledger.reserve(name, analyst="ana", charge=tenth, what={})
    _refused(lambda: ledger.reserve("q4", analyst="ana", charge=tenth, what={}), BudgetExceeded)
    for i in range(7):
        ledger.reserve(f"r{i}", analyst=f"analyst {i}", charge=tenth, what={})
    assert ledger.totals().spent == Charge(Fraction(1))
    _refused(lambda: ledger.reserve("one more", analyst="zoe", charge=tenth, what={}), BudgetExceeded)
    assert ledger.left("zoe").total == Charge(), "left is what is left"

    ledger.freeze("bob", reason="to look into it")
    _refused(lambda: ledger.reserve("q1", analyst="bob", charge=tenth, what={}), NotAllowed)
    ledger.freeze("bob", frozen=False, reason="looked into it")
    assert isinstance(ledger.reserve("q1", analyst="bob", charge=tenth, what={}), Committed)

    spent = ledger.totals().spent
    ledger.unprotected("exact counts by town, in print")
    assert ledger.totals().unprotected[0].endswith("exact counts by town, in print")
    assert ledger.totals().spent == spent, "no budget covers what was released without noise"

    _refused(lambda: ledger.accept(caps("2", "0.3"), policy="new", reason=None), BadPolicy)
    assert ledger.accept(caps("2", "0.3"), policy="new", reason="the ethics board agreed")
    assert not ledger.accept(caps("2", "0.3"), policy="new", reason=None), "an unchanged policy writes nothing"
    assert isinstance(ledger.reserve("one more", analyst="zoe", charge=tenth, what={}), Reserved)
    _refused(lambda: ledger.accept(caps("2", accountant="zcdp"), policy="zcdp", reason="why not"), BadPolicy)
    assert ledger.verify() == ledger.position()


def check_rectangle(make: Callable[[Caps], Ledger]) -> None:
    """The amount and the mass of failure are two sides, never traded against each other."""
    ledger = make(caps("1", accountant="zcdp", failure="1e-6"))
    _refused(
        lambda: ledger.reserve("q", analyst="ana", charge=Charge(Fraction(0), Fraction(2, 10**6)), what={}),
        BudgetExceeded,
    )
    ledger.reserve("q", analyst="ana", charge=Charge(Fraction(1), Fraction(1, 10**6)), what={})
    _refused(lambda: ledger.reserve("r", analyst="ana", charge=Charge(Fraction(1, 10**9)), what={}), BudgetExceeded)


def check_promise(make: Callable[[Caps], Ledger]) -> None:
    """What the sums are about does not change in silence, and neighbours never once something was spent."""
    people = {"unit": "person", "neighbours": "add-remove", "table people": "person_id"}
    ledger = make(caps("1", about=people))
    rows = people | {"table people": "row_number"}
    _refused(lambda: ledger.accept(caps("1", about=rows), policy="rows", reason=None), BadPolicy)
    assert ledger.accept(caps("1", about={"unit": "person"}), policy="fewer tables", reason=None)
    _refused(lambda: ledger.accept(caps("1", about=rows), policy="rows", reason=None), BadPolicy)
    assert ledger.accept(caps("1", about=people | {"table stays": "patient_id"}), policy="more tables", reason=None)
    assert ledger.accept(caps("1", about=people | {"neighbours": "replace"}), policy="replace", reason="agreed")
    ledger.reserve("q", analyst="ana", charge=Charge(Fraction(1, 10)), what={})
    _refused(lambda: ledger.accept(caps("1", about=people), policy="back", reason="agreed"), BadPolicy)
    assert ledger.accept(
        caps("1", about=rows | {"neighbours": "replace"}), policy="rows", reason="the old column was wrong"
    )


def _refused(call: Callable[[], object], kind: type[SfumatoError]) -> None:
    try:
        call()
    except kind as error:
        assert error.hint
        return
    raise AssertionError(f"{kind.__name__} was expected")


def wait_until_longer(log: Path, *, patience: float = 30.0) -> None:
    """Wait until another process has written more: on a busy machine kills that come by the clock may all come too early."""
    before, until = log.stat().st_size, time.monotonic() + patience
    while log.stat().st_size == before and time.monotonic() < until:
        time.sleep(0.002)
