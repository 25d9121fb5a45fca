"""Every question on dummy rows, free: the same columns and types, the same mechanisms and bars, no ledger and nobody's rows."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, final

from sfumato.core.errors import BadInput
from sfumato.core.private import Private
from sfumato.curator import dummy
from sfumato.curator.answer import Answer
from sfumato.curator.ledger.ledger import Left, Position
from sfumato.curator.ledger.records import Charge
from sfumato.curator.noisy import noisy
from sfumato.curator.opened import opened
from sfumato.curator.policy.memory import in_memory
from sfumato.curator.preview import Preview
from sfumato.curator.terms import Terms, terms_of
from sfumato.queries.frame import Frame, Question, frame
from sfumato.queries.plan import Released
from sfumato.queries.sql.options import priced

if TYPE_CHECKING:
    from sfumato.curator.policy import Policy
    from sfumato.engines.base import Engine


@final
class Rehearsal:
    """What a session offers, before rows that were drawn from the policy alone. Nothing is charged, nothing is replayed."""

    def __init__(self, terms: Terms, left: Left, *, rows: int = dummy.ROWS) -> None:
        """`left` is what answers say may still be spent: rehearsing leaves it as it is."""
        if rows < 1:
            raise BadInput("a rehearsal needs a row or more", hint="give rows=1000, say")
        if rows > dummy.MOST:
            raise BadInput(
                f"a rehearsal has at most {dummy.MOST:,} rows: they are made in memory", hint="give rows=1000, say"
            )
        self.terms, self._left, self._count = terms, left, rows

    @classmethod
    def of(cls, policy: Policy, *, analyst: str = "owner", rows: int = dummy.ROWS) -> Rehearsal:
        """Before a budget of which nothing is spent."""
        caps = policy.caps()
        return cls(terms_of(policy), Left(caps, caps.total, caps.of(analyst), Charge(), Charge()), rows=rows)

    @cached_property
    def tables(self) -> dict[str, Any]:
        """The dummy rows, as Arrow tables by name."""
        return dummy.tables(self.terms.schema, self._count)

    @cached_property
    def _engine(self) -> Engine:
        from sfumato.engines.duckdb import DuckDB

        return DuckDB(in_memory(self.terms.schema, self.tables))

    def table(self, name: str) -> Frame:
        """A table to build questions on."""
        return frame(self.terms.schema, name, asker=self)

    def sql(self, text: str) -> Question:
        """A question written in SQL."""
        from sfumato.queries.sql.parse import parse

        return Question(parse(text, self.terms.schema), self.terms.schema, self)

    def preview(self, question: str | Question | Released | Preview, **price: Any) -> Preview:
        """The price that the question really has."""
        match question:
            case Preview():
                return question
            case str():
                given = {name: price.pop(name, None) for name in ("epsilon", "within", "delta")}
                text, epsilon, delta = priced(question, self.terms.schema, **given)
                price |= {"epsilon": epsilon, "within": given["within"], "delta": delta}
                return self.terms.preview(self.sql(text).plan, **price)
            case Question():
                return self.terms.preview(question.plan, **price)
            case _:
                return self.terms.preview(question, **price)

    def ask(self, question: str | Question | Released | Preview, **price: Any) -> Answer:
        """An answer of the same shape as the real one, about nobody; it is stamped DUMMY wherever it is shown."""
        preview = self.preview(question, **price)
        bounded = preview.bounded
        exact = Private(self._engine.execute(bounded.sql("duckdb"))).map(
            bounded.found if bounded.private else bounded.vectors
        )
        kept = noisy(preview, exact)
        return Answer(
            preview=preview,
            result=opened(preview, kept),
            position=Position(0, ""),
            charged=Charge(),
            left=self._left,
            replayed=False,
            session=self,  # type: ignore[arg-type]
            stored=(kept,),
            name=dummy.STAMP,
        )

    def refine(self, answer: Answer, *, epsilon: Any) -> Answer:
        """Refused: a rehearsal keeps no answers to pool."""
        raise BadInput("a rehearsal is free, so there is nothing to refine", hint="ask at another price")
