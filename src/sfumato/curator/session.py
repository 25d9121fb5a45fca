"""One analyst's way in: preview for free, ask for a charge. The only place that sees question, rows and noise together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from sfumato.core.errors import BadInput, BudgetExceeded, Bug, EngineFailed, NotSupported
from sfumato.core.exact import Number, decimal_text, positive
from sfumato.curator.answer import Answer
from sfumato.curator.dummy import ROWS
from sfumato.curator.ledger.ledger import Committed, Ledger, Left, Reserved
from sfumato.curator.noisy import noisy
from sfumato.curator.opened import opened, pooled
from sfumato.curator.preview import Preview
from sfumato.curator.rehearsal import Rehearsal
from sfumato.curator.settle import settle
from sfumato.curator.stopped import stopped
from sfumato.queries.frame import Frame, Question, frame
from sfumato.queries.plan import Released, tables_of
from sfumato.queries.sql.options import priced

if TYPE_CHECKING:
    from sfumato.core.private import Private
    from sfumato.curator.dataset import Dataset
    from sfumato.curator.live import Live
    from sfumato.mechanisms.stream.interactive import Interactive
    from sfumato.queries.bounded import Bounded

Asked = str | Question | Released | Preview
"""SQL text, a question of a frame, its plan, or what `preview` returned."""


@final
@dataclass(frozen=True)
class Session:
    """An analyst before a data set. Nothing is read until a charge is written; only what the ledger stored comes out."""

    dataset: Dataset
    analyst: str

    def table(self, name: str) -> Frame:
        """A table to build questions on."""
        return frame(self.dataset.schema, name, asker=self)

    def sql(self, text: str) -> Question:
        """A question written in SQL."""
        from sfumato.queries.sql.parse import parse

        return Question(parse(text, self.dataset.schema), self.dataset.schema, self)

    def preview(
        self,
        question: Asked,
        *,
        epsilon: Number | None = None,
        within: Number | None = None,
        at: int = 1000,
        confidence: Number | None = None,
        workload: str = "bins",
        delta: Number | None = None,
    ) -> Preview:
        """The priced question, free: at an `epsilon`, or at the price that makes bars `within` in groups of `at` rows.

        `workload` says what its groups are for: each by itself ("bins"), "ranges" of them, or cumulative counts ("cdf").
        """
        if isinstance(question, Preview):
            return question
        if isinstance(question, str):
            question, epsilon, delta = priced(
                question, self.dataset.schema, epsilon=epsilon, within=within, delta=delta
            )
        return self.dataset.terms.preview(
            self.plan(question),
            epsilon=epsilon,
            within=within,
            at=at,
            confidence=confidence,
            workload=workload,
            delta=delta,
        )

    def ask(self, question: Asked, **price: Any) -> Answer:
        """Charge the question, compute it, and hand out what the ledger stored."""
        return self.ask_all([self.preview(question, **price)])[0]

    def again(self, question: Asked, **price: Any) -> Answer:
        """An answer that this analyst has paid for, asked in the same words at the same price; refused where there is none.

        Nothing is charged either way, so what another analyst has paid for is refused too, and in the same words.
        """
        preview = self.preview(question, **price)
        found = self.dataset.ledger.paid(preview.key, analyst=self.analyst)
        if found is None:
            raise not_asked()
        return self.answered(preview, found)

    def ask_all(self, previews: Sequence[Preview]) -> list[Answer]:
        """Several questions on one budget: all are charged, or none. One that occurs twice is asked once."""
        once = {preview.key: preview for preview in previews}
        found = {preview.key: done for preview, done in self._released(list(once.values()))}
        return [self.answered(preview, found[preview.key]) for preview in previews]

    def refine(self, answer: Answer, *, epsilon: Number) -> Answer:
        """More for the same question, at a further price; linear cells are pooled, so ratios come out better too.

        Quantiles are asked again: the surer of the releases stands.
        """
        more = self.refining(answer, epsilon=epsilon)
        return self.refined(answer, *self._released([more])[0])

    def refining(self, answer: Answer, *, epsilon: Number) -> Preview:
        """The question of an answer once more, priced for fresh noise."""
        if answer.preview.bounded.private:
            raise NotSupported(
                "which private groups are told is drawn anew each time, so two answers cannot be pooled",
                hint="ask again at a higher price",
                code="SF005",
            )
        before = answer.sources or (answer.preview,)
        more = Preview.of(
            answer.preview.bounded,
            epsilon=positive(epsilon, name="epsilon"),
            budget=self.dataset.budget,
            version=f"{answer.preview.version}#{answer.id}+{len(before)}",
            policy=answer.preview.policy,
            confidence=answer.preview.confidence,
            at=answer.preview.at,
            workload=answer.preview.workload,
        )
        return replace(more, nonnegative=answer.preview.nonnegative).worded(
            {**answer.preview.wording, "after": answer.position.n} if answer.preview.wording else None
        )

    def refined(self, answer: Answer, preview: Preview, found: Committed) -> Answer:
        """An answer pooled with one release more."""
        before = answer.sources or (answer.preview,)
        previews, stored = (*before, preview), (*map(self._stored, before), found.answer)
        return Answer(
            preview=answer.preview,
            result=pooled(previews, stored),
            position=found.position,
            charged=found.charged,
            left=self.left(),
            replayed=found.replayed and not found.charged.amount,
            session=self,
            sources=previews,
            stored=stored,
        )

    def start(self, mechanism: type[Interactive[Any]], *, epsilon: Number, delta: Number = 0, **public: Any) -> Live:
        """An interactive mechanism, charged whole now: `start(AboveThreshold, threshold=500, epsilon="0.3")`.

        Its `ask` takes counts, one after the other. It lives in this process: when it ends, so does the mechanism, and the
        charge stays.
        """
        from sfumato.curator.live import start

        return start(self, mechanism, epsilon=epsilon, delta=delta, **public)

    def dummy(self, *, rows: int = ROWS) -> Rehearsal:
        """The same session before rows drawn from the policy alone: every question is free there, and about nobody."""
        return Rehearsal.of(self.dataset.policy, analyst=self.analyst, rows=rows)

    def left(self) -> Left:
        """What this analyst may still spend."""
        return self.dataset.ledger.left(self.analyst)

    def plan(self, question: str | Question | Released) -> Released:
        """The plan of anything that can be asked."""
        match question:
            case str():
                return self.sql(question).plan
            case Question():
                return question.plan
            case _:
                return question

    # From question to stored answer.

    def _released(self, previews: Sequence[Preview]) -> list[tuple[Preview, Committed]]:
        ledger, policy = self.dataset.ledger, self.dataset.policy.digest
        if any(each.policy != policy for each in previews):
            raise BadInput(
                "this preview was priced under another policy, so its price means nothing here",
                hint="preview the question in this session",
            )
        new = [each for each in previews if ledger.find(each.key) is None]
        if new:  # answers given before need no source
            self.dataset.ready(name for each in new for name in tables_of(each.bounded.tally))
        wanted = [(each.key, each.charge, each.what()) for each in previews]
        try:
            found = ledger.reserve_all(wanted, analyst=self.analyst, policy=policy)
        except BudgetExceeded as error:
            raise self._too_dear(error, previews) from None
        return [(preview, self._settle(ledger, preview, each)) for preview, each in zip(previews, found, strict=True)]

    def _settle(self, ledger: Ledger, preview: Preview, found: Reserved | Committed) -> Committed:
        return settle(
            ledger,
            found,
            compute=lambda: self.computed(preview),
            analyst=self.analyst,
            charge=preview.charge,
            policy=preview.policy,
        )

    def computed(self, preview: Preview) -> dict[str, Any]:
        """What the ledger stores of a question that was charged: its noisy integers."""
        return noisy(preview, self._exact(preview.bounded))

    def _exact(self, bounded: Bounded) -> Private[Any]:
        """The exact answer, sealed as soon as it exists."""
        try:
            return self.dataset.exact(bounded)
        except EngineFailed:
            raise stopped(self.dataset.ledger, self.analyst) from None

    def answered(self, preview: Preview, found: Committed) -> Answer:
        """What the ledger stored, as an answer."""
        return Answer(
            preview=preview,
            result=opened(preview, found.answer),
            position=found.position,
            charged=found.charged,
            left=self.left(),
            replayed=found.replayed and not found.charged.amount,
            session=self,
            stored=(found.answer,),
        )

    def _stored(self, preview: Preview) -> Mapping[str, Any]:
        found = self.dataset.ledger.find(preview.key)
        if found is None:
            raise Bug("an answer that was handed out is not in the ledger")
        return found.answer

    def _too_dear(self, error: BudgetExceeded, previews: Sequence[Preview]) -> BudgetExceeded:
        """The same refusal, with the price and the bars that would fit."""
        rest = self.left().analyst.amount
        cost = sum((each.charge.amount for each in previews), Fraction(0))
        hint = (would_fit(previews[0], rest) if len(previews) == 1 else None) or error.hint
        return BudgetExceeded(
            error.message, hint=hint, code="SF003", cost=decimal_text(cost), left=decimal_text(rest, rounding="down")
        )


def not_asked() -> BadInput:
    return BadInput(
        "you have no answer to this question at this price, so there is nothing to refine; nothing was charged",
        hint="ask it first (`sfumato ask QUESTION --epsilon ...`), or repeat the words, --paid, --workload and --at that it was"
        " asked with",
    )


def would_fit(preview: Preview, rest: Fraction) -> str | None:
    """The price at which a question would fit into what is left, and its bars."""
    if rest <= 0:
        return None
    fitting = Fraction(decimal_text(preview.epsilon * rest / preview.charge.amount, rounding="down"))
    if fitting <= 0:
        return None
    cheaper = replace_price(preview, fitting)
    if cheaper.charge.amount > rest:
        return None
    bars = ", ".join(f"{name} ±{width:.3g}" for name, width in cheaper.within().items())
    return f"--epsilon {decimal_text(fitting)} would fit" + (f": {bars}" if bars else "")


def replace_price(preview: Preview, epsilon: Fraction) -> Preview:
    """The same question at another price."""
    return Preview.of(
        preview.bounded,
        epsilon=epsilon,
        budget=preview.budget,
        version=preview.version,
        policy=preview.policy,
        confidence=preview.confidence,
        at=preview.at,
        workload=preview.workload,
        delta=preview.delta,
    )
