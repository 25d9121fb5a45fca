"""What a question is priced under: all of it public, so whoever knows it can price a question without reading a row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, final

from sfumato.accounting import PureFilter, ZcdpFilter
from sfumato.core.errors import BadInput, NotSupported
from sfumato.core.exact import Number, probability
from sfumato.curator.preview import Preview
from sfumato.queries.bounded import bound

if TYPE_CHECKING:
    from sfumato.accounting import Filter
    from sfumato.curator.policy import Policy
    from sfumato.queries.plan import Released
    from sfumato.queries.schema import Schema


@final
@dataclass(frozen=True)
class Terms:
    """The schema, the filter of the budget, and the words that a policy fixes for every question."""

    schema: Schema
    budget: Filter
    version: str
    policy: str
    confidence: Fraction
    nonnegative: bool = True
    """Whether counts stop at 0, and other numbers at what is possible."""

    def preview(
        self,
        plan: Released,
        *,
        epsilon: Number | None = None,
        within: Number | None = None,
        at: int = 1000,
        confidence: Number | None = None,
        workload: str = "bins",
        delta: Number | None = None,
    ) -> Preview:
        """The priced question: at an `epsilon`, or at the price that makes bars `within` in groups of `at` rows.

        `workload` says what the groups are for: each by itself ("bins"), "ranges" of them, or cumulative counts ("cdf").
        """
        from sfumato.mechanisms.histogram.axis import kind_of

        kind = kind_of(workload)
        if (epsilon is None) == (within is None):
            raise _no_price()
        bounded = bound(plan, self.schema)
        sure = self.sure(confidence)
        if within is not None:
            reaching = Preview.reaching(
                bounded,
                within=within,
                at=at,
                budget=self.budget,
                version=self.version,
                policy=self.policy,
                confidence=sure,
                workload=kind,
                delta=delta,
            )
            return replace(reaching, nonnegative=self.nonnegative)
        assert epsilon is not None
        found = Preview.of(
            bounded,
            epsilon=epsilon,
            at=at,
            budget=self.budget,
            version=self.version,
            policy=self.policy,
            confidence=sure,
            workload=kind,
            delta=delta,
        )
        return replace(found, nonnegative=self.nonnegative)

    def sure(self, asked: Number | None) -> Fraction:
        """The confidence of bars: the policy's, unless another one is asked for."""
        sure = self.confidence if asked is None else probability(asked, name="confidence")
        if sure == 0:
            raise BadInput("a confidence must be above 0", hint="give 0.95, say")
        return sure


def budget_of(policy: Policy) -> Filter:
    """The filter of the data set's accountant."""
    budget = policy.document.budget
    if budget.accountant == "pure":
        return PureFilter(budget.epsilon, budget.delta)
    return ZcdpFilter(budget.epsilon, budget.delta)


def terms_of(policy: Policy) -> Terms:
    """What a policy says of every question."""
    answers = policy.document.answers
    schema, budget = policy.schema(), budget_of(policy)
    return Terms(schema, budget, policy.version, policy.digest, answers.confidence, nonnegative_of(policy))


def nonnegative_of(policy: Policy) -> bool:
    """What `post_process` says. A policy that says nothing means nonnegative: people expect a count of nobody to be 0."""
    answers = policy.document.answers
    return "post_process" not in answers.model_fields_set or "nonnegative" in answers.post_process


def _no_price() -> NotSupported:
    return NotSupported(
        "no price was agreed, or two: a question is asked at a precision or at an epsilon",
        hint="say --within 1.0 --at 1000, or --epsilon 0.1",
        code="SF004",
    )
