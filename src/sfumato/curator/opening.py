"""Which engine computes: where the rows are decides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sfumato.core.errors import BadInput

if TYPE_CHECKING:
    from sfumato.engines.base import Engine, Source

HERE = "memory"


def engine_for(sources: Mapping[str, Source]) -> Engine:
    """One engine for all tables of a data set: a question is one statement."""
    # Public tables in memory (the levels of a list of codes) go where the rows are.
    kinds = {_kind(source) for source in sources.values() if source.unit is not None or source.location is not None}
    elsewhere = kinds & {"postgresql", "spark"}
    if elsewhere and len(kinds) > 1:
        raise BadInput(
            f"the tables of this data set are in several places ({', '.join(sorted(kinds))}), and a question is one statement",
            hint="bring them to one place: public lists can be loaded into the database or the cluster",
        )
    match next(iter(elsewhere), HERE):
        case "postgresql":
            from sfumato.engines.postgres import Postgres

            return Postgres(sources)
        case "spark":
            from sfumato.engines.spark import Spark

            return Spark(sources)
        case _:
            from sfumato.engines.duckdb import DuckDB

            return DuckDB(sources)


def _kind(source: Source) -> str:
    """A frame of Spark is where its cluster is; any other table in memory is here."""
    if source.location is None:
        return "spark" if type(source.data).__module__.partition(".")[0] == "pyspark" else HERE
    return source.location.partition(":")[0]
