"""A question about a generated table, asked many times: the curator's own path from SQL to answer, without a ledger.

The question is parsed, bounded and priced, DuckDB computes the exact integers once, and mechanisms add noise as often as the
lesson wants. A curator would refuse the second time (it replays) and charge the first; a lesson shows what that prevents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

from sfumato.core.exact import Number, positive

if TYPE_CHECKING:
    from sfumato.curator.preview import Preview
    from sfumato.noise import Source
    from sfumato.queries.answer import Result
    from sfumato.queries.bounded import Bounded, Vector
    from sfumato.queries.schema import Schema


CONFIDENCE = Fraction(95, 100)


@final
@dataclass(frozen=True)
class Asked:
    """One question about tables in memory (by name, each a mapping of columns), at a price."""

    sql: str
    schema: Schema
    tables: Mapping[str, Mapping[str, Any]]
    epsilon: Number

    def at(self, epsilon: Number) -> Asked:
        """The same question at another price; what was computed exactly is not computed again."""
        other = replace(self, epsilon=epsilon)
        for known in ("bounded", "exact"):
            other.__dict__[known] = getattr(self, known)
        return other

    @cached_property
    def bounded(self) -> Bounded:
        """The question with each person's reach bounded; it knows its sensitivities."""
        from sfumato.queries.bounded import bound
        from sfumato.queries.sql.parse import parse

        return bound(parse(self.sql, self.schema), self.schema)

    @cached_property
    def preview(self) -> Preview:
        """The priced question under a pure budget of that price: what the curator would execute."""
        from sfumato.accounting import PureFilter
        from sfumato.curator.preview import Preview

        price = positive(self.epsilon, name="epsilon")
        return Preview.of(
            self.bounded, epsilon=price, budget=PureFilter(price), version="toy", policy="", confidence=CONFIDENCE
        )

    @cached_property
    def exact(self) -> tuple[Vector, ...]:
        """The exact integers. The table is generated: nobody's secret is in it, so they travel without a box."""
        import pyarrow as pa

        from sfumato.engines.base import Source as Rows
        from sfumato.engines.duckdb import DuckDB

        rows = {}
        for table in self.schema.tables:
            kinds = {column.name: column.type for column in table.columns}
            data = pa.table({name: list(values) for name, values in self.tables[table.name].items()})
            rows[table.name] = Rows(kinds, data=data, unit=table.unit, missing=())
        engine = DuckDB(rows, threads=1)
        return self.bounded.vectors(engine.execute(self.bounded.sql(engine.dialect)))

    def true(self) -> Result:
        """The answer without noise."""
        from sfumato.queries.answer import answer

        return answer(self.bounded, self.exact)

    def answers(self, times: int, source: Source) -> list[Result]:
        """`times` answers, each with fresh noise and 95 % bars."""
        import numpy as np

        from sfumato.queries.answer import answer

        widths = self.preview.cell_widths()
        drawn = [
            mechanism.release(np.tile(vector, times), sensitivity, source=source).value.reshape(times, -1)
            for mechanism, vector, sensitivity in zip(
                self.preview.mechanisms, self.exact, self.bounded.sensitivities, strict=True
            )
        ]
        return [answer(self.bounded, [vectors[i] for vectors in drawn], widths) for i in range(times)]
