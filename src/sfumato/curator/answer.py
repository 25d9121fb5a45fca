"""What an analyst receives: rows with bars, what was counted, what it cost, and where it stands in the ledger."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

from sfumato.core.exact import Number, decimal_text
from sfumato.curator.dummy import STAMP
from sfumato.curator.ledger.ledger import Left, Position
from sfumato.curator.ledger.records import Charge
from sfumato.curator.notes import notes
from sfumato.curator.preview import Preview
from sfumato.curator.statistics import chosen_by_noise, compare, covariance, covering, laws, paid, together
from sfumato.queries.answer import NOTHING, Estimate, Estimates, Result
from sfumato.queries.missing import missing_of
from sfumato.queries.quantiles import Located

if TYPE_CHECKING:
    from sfumato.curator.session import Session


@final
@dataclass(frozen=True)
class Answer:
    """A table of estimates. It prints as text and HTML, and goes to Arrow, polars, pandas and JSON."""

    preview: Preview
    result: Result
    position: Position
    charged: Charge
    left: Left
    replayed: bool
    session: Session
    sources: tuple[Preview, ...] = ()
    """The previews whose releases were pooled into this; the question's own alone when nothing was refined."""

    stored: tuple[Mapping[str, Any], ...] = ()
    """What the ledger stored of each of these."""
    name: str = ""
    """What it is called where a number in the ledger would tell how much others have asked; "" where it is its number."""

    covers: str = "noise"
    """What its bars cover: "noise", or "noise+sampling" for the means."""
    bars: str = ""
    """"together, m" where m bars hold all at once."""

    @property
    def id(self) -> str:
        """Its name in the ledger."""
        return self.name or f"a-{self.position.n:06d}"

    @property
    def columns(self) -> tuple[str, ...]:
        return self.result.columns

    @cached_property
    def measured(self) -> tuple[str, ...]:
        """The columns that carry noise. Kept: to find it every cell is looked at, and it is asked for once a row."""
        measured = set(self.preview.measured)
        for row in self.result.rows:
            if len(measured) == len(self.columns):
                break
            measured |= {
                name
                for name, cell in zip(self.columns, row, strict=True)
                if isinstance(cell, Estimate | Estimates | Located)
            }
        return tuple(name for name in self.columns if name in measured)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One dictionary per row: keys, and for each measured column its value, ends of its bar, and unbiased value."""
        kinds = self._kinds()
        return [_shown(kinds, row) for row in self.result.rows]

    @property
    def fields(self) -> tuple[str, ...]:
        """The names in each of `rows`, known without a row."""
        return tuple(_shown(self._kinds(), (None,) * len(self.columns)))

    def _kinds(self) -> list[tuple[str, str]]:
        """For each column whether it is a "key", "quantiles", a "count" or another "number"."""
        measured, quantiles, counts = set(self.measured), self.preview.quantiles, self.preview.counts
        return [
            (
                name,
                "key"
                if name not in measured
                else "quantiles"
                if name in quantiles
                else "count"
                if name in counts
                else "number",
            )
            for name in self.columns
        ]

    def to_arrow(self) -> Any:
        """A pyarrow Table: keys, and for each measured column `x`, `x_low`, `x_high` and `x_unbiased`.

        A quantile has `x_ranks` instead, how far its rank may be off as a part of all; several quantiles are lists.
        """
        import pyarrow as pa

        rows, names, asked = self.rows, self.fields, self.preview.quantiles
        floats = {
            f"{name}{end}" for name in self.measured for end in ("", "_low", "_high", "_unbiased")
        } - self.preview.counts
        types = dict.fromkeys(floats, pa.float64())
        kinds = {"number": pa.float64(), "day": pa.date32(), "order": pa.string()}
        for name, at in asked.items():
            for end in ("", "_low", "_high", "_ranks"):
                one = pa.float64() if end == "_ranks" else kinds[self.preview.scale(name)]
                types[f"{name}{end}"] = one if len(at) == 1 else pa.list_(one)
        return pa.table({name: pa.array([row[name] for row in rows], type=types.get(name)) for name in names})

    def to_polars(self) -> Any:
        import polars as pl

        return pl.from_arrow(self.to_arrow())

    def to_pandas(self) -> Any:
        return self.to_arrow().to_pandas()

    def to_json(self) -> dict[str, Any]:
        """What `sfumato ask --format json` prints."""
        unit = self.left.caps.unit
        return {
            "columns": list(self.columns),
            "rows": [[_json(row[name]) for name in self.columns] for row in self.rows],
            "within": {name: self._within(name) for name in self.measured},
            "spent": _amounts(unit, self.charged, "up"),
            "left": _amounts(unit, self.left.analyst, "down"),
            "counted": self.preview.counted,
            "noise": self.preview.noise(),
            "covers": self.covers,
            "bars": self.bars or "each by itself",
            "laws": laws(self.preview),
            "notes": list(notes(self.preview, self.result)),
            "chosen_by_noise": list(chosen_by_noise(self.preview.bounded.question)),
            **({"ranks": self.ranks} if self.preview.quantiles else {}),
            "threshold": self.preview.threshold,
            "missing": asdict(missing_of(self.preview.bounded.tally)),
            "confidence": decimal_text(self.preview.confidence),
            "replayed": self.replayed,
            "dummy": self.name == STAMP,
            "answer": self.id,
        }

    def _within(self, name: str) -> Any:
        place = self.columns.index(name)
        shown = [_bar(row[place]) for row in self.result.rows]
        return shown[0] if shown and all(each == shown[0] for each in shown) else shown

    @property
    def ranks(self) -> dict[str, dict[str, Any]]:
        """Of each column of quantiles: which, by how many rows (at full weight) their ranks may be off in the sample."""
        sources, found = self.sources or (self.preview,), {}
        for name, at in self.preview.quantiles.items():
            best = min(sources, key=lambda each, name=name: each.rank_width(name))  # type: ignore[misc]
            bins = best.bin(name)
            found[name] = {
                "quantiles": [decimal_text(q) for q in at],
                "rows": best.rank_width(name),
                **({} if bins is None else {"bin": decimal_text(bins)}),
                "of": "sample",
            }
        return found

    def refine(self, *, epsilon: Number) -> Answer:
        """Pay more for the same question: new noise on the same integers, pooled with what was released before."""
        return self.session.refine(self, epsilon=epsilon)

    def range(self, low: Any = None, high: Any = None, *, column: str | None = None, **keys: Any) -> Estimate:
        """The sum over the groups from `low` to `high` along the ordered key, both counted in. Free; its bar is the sum's own.

        Without an end it runs to the key's own: range(None, 17) is a cumulative count. Other keys by name: sex="F".
        """
        from sfumato.curator.ranges import ranged

        sources = self.sources or (self.preview,)
        return ranged(sources, self._parts(), column, low, high, keys)

    def level(self, name: str, *, column: str | None = None) -> dict[str, Estimate]:
        """The sums over the nodes of a declared level, each with its own bar: they agree with the groups, and cost nothing."""
        from sfumato.curator.ranges import levelled

        sources = self.sources or (self.preview,)
        return levelled(sources, self._parts(), column, name)

    def _parts(self) -> list[list[Any]]:
        """What was released of each statistic, by each of the sources."""
        from sfumato.curator.opened import parts

        sources = self.sources or (self.preview,)
        return [parts(preview, stored) for preview, stored in zip(sources, self.stored, strict=True)]

    @property
    def laws(self) -> dict[str, dict[str, Any]]:
        """For each measured column the law of its noise and its scale."""
        return laws(self.preview)

    def covariance(self, column: str) -> Any:
        """The 2 x 2 covariance of the noise of (sum, count) that a mean is the ratio of."""
        return covariance(self.preview, column)

    def simultaneous(self) -> Answer:
        """The same answer with bars of which all hold at once."""
        return together(self)

    def covering(self, covers: str) -> Answer:
        """The same answer with bars that cover "noise", or "noise+sampling"."""
        return covering(self, covers)

    def compare(self, first: Any, second: Any, column: str | None = None) -> Estimate:
        """The second group's number less the first's, and the bar of the difference."""
        return compare(self, first, second, column)

    def total(self, column: str | None = None) -> Estimate:
        """The sum of a count or a sum over all groups, with the bar of the sum itself. Free."""
        from sfumato.curator.ranges import totalled

        sources = self.sources or (self.preview,)
        return totalled(sources, self._parts(), column)

    def paid(self, column: str) -> list[Estimate]:
        """The noisy number of rows behind each mean of a column, which the mean has already paid for."""
        return paid(self, column)

    def plot(self) -> Any:
        """An Altair chart with error bars."""
        from sfumato.show.answer import apart, chart

        keys = [name for name in self.columns if name not in self.measured]
        drawn = [n for n in self.measured if n not in self.preview.quantiles or self.preview.scale(n) == "number"]
        rows, measured = apart(self.rows, drawn, self.preview.quantiles)
        return chart(rows, keys=keys, measured=measured)

    def __repr__(self) -> str:
        from sfumato.show.answer import text

        return text(self)

    def _repr_html_(self) -> str:
        from sfumato.show.answer import html

        return html(self)


def _shown(kinds: list[tuple[str, str]], row: tuple[Any, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for (name, kind), cell in zip(kinds, row, strict=True):
        if kind == "key":
            found[name] = _plain(cell)
            continue
        if kind == "quantiles":
            found |= _quantiles(name, cell)
            continue
        estimate = cell if isinstance(cell, Estimate) else NOTHING
        value, bar = _plain(estimate.unbiased), estimate.within
        found[name] = _rounded(estimate.value) if kind == "count" else _plain(estimate.value)
        found[f"{name}_low"] = None if value is None or bar is None else value - float(bar)
        found[f"{name}_high"] = None if value is None or bar is None else value + float(bar)
        found[f"{name}_unbiased"] = value
    return found


def _quantiles(name: str, cell: Any) -> dict[str, Any]:
    """A quantile, or the list of them: values, the ends of their bars, and how far their ranks may be off."""
    each = cell.each if isinstance(cell, Estimates) else (cell,)
    parts: list[list[Any]] = [[], [], [], []]
    for one in each:
        for part, found in zip(parts, _quantile(one), strict=True):
            part.append(found)
    names = (name, f"{name}_low", f"{name}_high", f"{name}_ranks")
    several = isinstance(cell, Estimates)
    return {key: part if several else part[0] for key, part in zip(names, parts, strict=True)}


def _quantile(one: Any) -> tuple[Any, Any, Any, Any]:
    """Value, ends and ranks of one quantile: a number, a day or a category."""
    match one:
        case Estimate(value=Fraction() as value, within=bar, ranks=ranks):
            ends = (None, None) if bar is None else (float(value - bar), float(value + bar))
            return (float(value), *ends, _plain(ranks))
        case Located(value, share, low, high):
            return value, low, high, _plain(share)
        case _:
            return None, None, None, None


def _bar(cell: Any) -> Any:
    """The half-width of a number, or of each number of a list."""
    if isinstance(cell, Estimates):
        return [_bar(each) for each in cell.each]
    return None if not isinstance(cell, Estimate) or cell.within is None else float(cell.within)


def _amounts(unit: str, charge: Charge, rounding: Any) -> dict[str, str]:
    return {
        unit: decimal_text(charge.amount, rounding=rounding),
        "delta": decimal_text(charge.failure, rounding=rounding),
    }


def _rounded(value: Fraction | None) -> int | None:
    """A count as people read it; `_unbiased` stays as the noise left it."""
    return None if value is None else math.floor(value + Fraction(1, 2))


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Fraction) else value


def _json(value: Any) -> Any:
    if isinstance(value, list):
        return [_json(each) for each in value]
    return value.isoformat() if isinstance(value, date) else value


def amounts_of(left: Left) -> Mapping[str, str]:
    """What one analyst may still spend, in text."""
    return _amounts(left.caps.unit, left.analyst, "down")
