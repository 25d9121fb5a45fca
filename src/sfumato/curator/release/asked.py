"""Products that are questions: the same plans, prices and noise as an analyst's, under the names of files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from sfumato.accounting import Loss
from sfumato.core.errors import BadInput, NotSupported
from sfumato.core.exact import decimal_text
from sfumato.curator.ledger.ledger import Committed
from sfumato.curator.ledger.records import Charge
from sfumato.curator.mixed import weights
from sfumato.curator.preview import Preview
from sfumato.curator.release.product import Portion, Stored
from sfumato.curator.release.shares import divided
from sfumato.curator.release.table import Drawn, Table
from sfumato.mechanisms import Gaussian, Laplace
from sfumato.queries.answer import Estimate, holder
from sfumato.queries.expression import Measure
from sfumato.queries.plan import Released, Select, tables_of

if TYPE_CHECKING:
    from sfumato.curator.answer import Answer
    from sfumato.curator.session import Session

LINEAR = frozenset({"rows", "present", "units", "distinct", "sum", "mean"})
"""Measures whose bar is as many times its noise's scale as that of the cells: the scale follows from the bar."""


@final
@dataclass(frozen=True, slots=True)
class Asking:
    """Questions that were asked for, each the table of one file; the price is divided evenly among them."""

    name: str
    kind: str
    questions: tuple[tuple[str, Released], ...]
    share: Fraction = Fraction(1)
    drawn: Drawn = "bars"
    workload: str = "bins"
    method: str = ""
    """A strategy by its name among those that the preview compares on the workload; the best of them when none is named."""

    def priced(self, portion: Portion) -> Asked:
        session = portion.session
        prices = divided(session.dataset.budget, portion.epsilon, [Fraction(1)] * len(self.questions))
        parts = tuple(
            AskedPart(session, name, self._preview(session, plan, price, portion.confidence))
            for (name, plan), price in zip(self.questions, prices, strict=True)
        )
        return Asked(self.name, self.kind, parts, self.drawn)

    def _preview(self, session: Session, plan: Released, price: Fraction, confidence: Fraction | None) -> Preview:
        preview = session.preview(plan, epsilon=price, confidence=confidence, workload=self.workload)
        if self.kind != "quantiles" and any(len(at) > 1 for at in preview.quantiles.values()):
            raise _listed()
        if not self.method or self.workload == "bins":
            return preview
        chosen = []
        for comparison in preview.comparisons():
            options = {option.name.casefold(): option.mechanism for option in comparison.options}
            if self.method.casefold() not in options:
                raise BadInput(
                    f"{self.method[:40]} is no method for this histogram",
                    hint=f"choose flat, best, {', '.join(name for name in options if name != 'flat')}",
                )
            chosen.append(options[self.method.casefold()])
        return replace(preview, mechanisms=tuple(chosen))


@final
@dataclass(frozen=True, slots=True)
class AskedPart:
    """One priced question of a product."""

    session: Session
    name: str
    preview: Preview

    @property
    def key(self) -> str:
        return self.preview.key

    @property
    def charge(self) -> Charge:
        return self.preview.charge

    @property
    def reads(self) -> tuple[str, ...]:
        return tables_of(self.preview.bounded.tally)

    @property
    def losses(self) -> tuple[Loss, ...]:
        return self.preview.losses

    def what(self) -> dict[str, Any]:
        return self.preview.what()

    def compute(self) -> Stored:
        return self.session.computed(self.preview)


@final
@dataclass(frozen=True, slots=True)
class Asked:
    """A priced product of one question or several."""

    name: str
    kind: str
    parts: tuple[AskedPart, ...]
    drawn: Drawn = "bars"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts)

    @property
    def epsilon(self) -> Fraction:
        return sum((part.preview.epsilon for part in self.parts), Fraction(0))

    def foreseen(self) -> dict[str, Any]:
        within = {
            f"ranks of {name}" if name in part.preview.quantiles else name: width
            for part in self.parts
            for name, width in part.preview.within().items()
        }
        return {"name": self.name, "epsilon": decimal_text(self.epsilon), "within": within}

    def tables(self, found: Sequence[Committed]) -> tuple[Table, ...]:
        return tuple(self._table(part, each) for part, each in zip(self.parts, found, strict=True))

    def _table(self, part: AskedPart, found: Committed) -> Table:
        answer = part.session.answered(part.preview, found)
        rows, scales = answer.rows, _scales(answer)
        if self.kind == "quantiles":
            return _long(part.name, answer)
        whole = answer.preview.counts & {*answer.measured}
        found_rows = [{**_unbiased(row, part.preview), **each} for row, each in zip(rows, scales, strict=True)]
        return Table(part.name, answer.columns, answer.measured, tuple(found_rows), self.drawn, whole)

    def described(self, found: Sequence[Committed]) -> dict[str, Any]:
        from sfumato.curator.certificate.described import described

        tables = [
            described(part.preview, part.session.answered(part.preview, each)) | {"table": part.name}
            for part, each in zip(self.parts, found, strict=True)
        ]
        return {"name": self.name, "kind": self.kind, "epsilon": decimal_text(self.epsilon), "tables": tables}


def _unbiased(row: Mapping[str, Any], preview: Preview) -> dict[str, Any]:
    """A quantile is shown as it was released: nothing was moved afterwards."""
    return {**row, **{f"{name}_unbiased": row[name] for name in preview.quantiles}}


def _long(name: str, answer: Answer) -> Table:
    """The quantiles of one column: a row for each, with by how many rows of the sample its rank may be off."""
    ((of, at),) = answer.preview.quantiles.items()
    keys, off = tuple(each for each in answer.columns if each != of), answer.ranks[of]["rows"]
    rows = []
    for row in answer.rows:
        for place, q in enumerate(at):
            ends = {f"{of}{end}": _item(row[f"{of}{end}"], place) for end in ("", "_low", "_high")}
            said = {"quantile": float(q), f"{of}_unbiased": ends[of], f"{of}_scale": None, f"{of}_rank_rows": off}
            rows.append({key: row[key] for key in keys} | said | ends)
    extra = f"{of}_rank_rows"
    return Table(name, (*keys, "quantile", of, extra), (of,), tuple(rows), "points", notes=frozenset({extra}))


def _item(value: Any, place: int) -> Any:
    return value[place] if isinstance(value, list) else value


def _listed() -> NotSupported:
    return NotSupported(
        "a list of quantiles has no place in a table of numbers",
        hint="publish it as a product of its own: p.quantiles(column, [0.1, 0.5, 0.9])",
        code="SF021",
    )


def _scales(answer: Answer) -> Iterator[dict[str, float | None]]:
    """For each row and measured column the scale of its noise in the column's own unit; None where there is no such."""
    parts = _parts(answer.preview)
    for row in answer.result.rows:
        found: dict[str, float | None] = {}
        for name, cell in zip(answer.columns, row, strict=True):
            bar = cell.within if isinstance(cell, Estimate) else None
            found[f"{name}_scale"] = None if bar is None or name not in parts else float(bar * parts[name])
        yield found


def _parts(preview: Preview) -> dict[str, Fraction]:
    """By name of a linear column: what its bar is to be multiplied with to give the scale of its noise."""
    question = preview.bounded.question
    columns = question.columns if isinstance(question, Select) else ()
    widths = preview.cell_widths()
    found = {}
    for name, each in columns:
        if isinstance(each, Measure) and each.kind in LINEAR and weights(each, preview.bounded) is None:
            at = preview.bounded.tally.statistics.index(holder(each, preview.bounded))
            mechanism = preview.mechanisms[at]
            if widths[at] and isinstance(mechanism, Laplace | Gaussian):
                found[name] = Fraction(getattr(mechanism, mechanism.noise_field)) / widths[at]
    return found
