"""Copies of tables, rows of a unit side by side with their number beside them: bounded questions cost less on them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, final

from sfumato.core.canonical import digest
from sfumato.core.errors import BadInput
from sfumato.curator.home import Home
from sfumato.curator.policy import Policy
from sfumato.queries.ingested import Ingested, incomplete
from sfumato.queries.plan import Tally, canonical
from sfumato.queries.schema import Table

if TYPE_CHECKING:
    from sfumato.engines.base import Engine, Source

COUNTS = "sfumato_rows_of_unit"
"""The column that says how many rows of the table the row's unit has."""

_COMPLETE = b"sfumato.complete"


@final
@dataclass(frozen=True, slots=True)
class Copies:
    """The copies of one data set, in the home's cache. They hold what the policy names, and are personal data.

    A copy belongs to one declared version, one place and one reading of the columns: its name is their digest, so a copy
    of anything else is never taken for it. A question on a copy has the key, the price and the exact answer that it has
    on the source.
    """

    policy: Policy
    home: Home

    @property
    def folder(self) -> Path:
        return self.home.cache / re.sub(r"[^\w-]", "_", self.policy.id)

    def sources(self, sources: Mapping[str, Source]) -> tuple[dict[str, Source], dict[str, Ingested]]:
        """The sources with every table that has a copy read from it; and what is known of those."""
        found, ingested = dict(sources), {}
        for table in self.policy.schema().tables:
            source = sources.get(table.name)
            if source is not None and source.location is not None and (file := self._file(table, source)).exists():
                found[table.name] = _copied(source, file)
                ingested[table.name] = Ingested(COUNTS, _complete(file))
        return found, ingested

    def ingest(self, name: str) -> Path:
        """Make the table's copy, whole or not at all, and remove its copies of other versions."""
        table, source = self.policy.schema().table(name), self.policy.sources().get(name)
        if table is None or source is None or source.location is None:
            raise BadInput(f"there is no source of {name} to copy", hint="name a table whose source the policy gives")
        if source.unit is None:
            raise BadInput(
                f"every row of {name} is public or a unit of its own, so there is nothing to put side by side",
                hint="only tables with a column for their unit gain from a copy",
            )
        if COUNTS in {source.unit, *source.columns}:
            raise BadInput(f"{name} has a column called {COUNTS}", hint="give that column another name")
        self.home.folder(self.home.cache)
        self.home.folder(self.folder)
        file = self._file(table, source)
        self._write(table, source, file)
        for other in self.folder.glob(f"{_stem(name)}-*.parquet"):
            if other != file:
                other.unlink(missing_ok=True)
        return file

    def _write(self, table: Table, source: Source, file: Path) -> None:
        """First the rows, then what holds in all of them: it is found out on the copy, which nobody else writes to."""
        from sfumato.engines.duckdb import DuckDB

        rows, draft, spill = (file.with_name(f".{file.name}.{os.getpid()}.{part}") for part in ("rows", "new", "spill"))
        here = [f"{self.folder.resolve()}{os.sep}"]
        assert source.unit is not None
        try:
            engine = DuckDB({table.name: source}, look_in=here, spill=str(spill))
            engine.cluster(table.name, unit=source.unit, counts=COUNTS, file=str(rows.resolve()))
            engine.close()
            engine = DuckDB({table.name: _copied(source, rows)}, look_in=here)
            _marked(rows, draft, complete=[c.name for c in table.columns if not _rows(engine, incomplete(table, c))])
            engine.close()
            draft.chmod(0o600)
            draft.replace(file)
        finally:
            rows.unlink(missing_ok=True)
            draft.unlink(missing_ok=True)
            with suppress(OSError):
                spill.rmdir()

    def _file(self, table: Table, source: Source) -> Path:
        what = {
            "version": self.policy.version,
            "location": source.location or "",
            "columns": canonical(table.columns),
            "unit": source.unit or "",
            "missing": list(source.missing),
            "timezone": source.timezone,
            **({"keys": dict(source.keys)} if source.keys else {}),
        }
        return self.folder / f"{_stem(table.name)}-{digest(what)[:32]}.parquet"


def _rows(engine: Engine, tally: Tally) -> int:
    from sfumato.queries.sql.emit import emit

    return int(engine.execute(emit(tally, engine.dialect)).column("c0")[0].as_py())


def _marked(rows: Path, file: Path, *, complete: list[str]) -> None:
    """The same rows, and in the file's own description the columns that are complete: one file says both or neither."""
    import pyarrow.parquet as parquet

    with parquet.ParquetFile(rows) as found:
        described = found.schema_arrow.with_metadata({_COMPLETE: json.dumps(complete).encode()})
        with parquet.ParquetWriter(file, described) as out:
            for place in range(found.num_row_groups):
                out.write_table(found.read_row_group(place).cast(described))


def _complete(file: Path) -> frozenset[str]:
    import pyarrow.parquet as parquet

    return frozenset(json.loads((parquet.read_schema(file).metadata or {}).get(_COMPLETE, b"[]")))


def _copied(source: Source, file: Path) -> Source:
    return replace(source, location=f"parquet:{file}", counts=COUNTS, missing=())


def _stem(table: str) -> str:
    """The table's name as part of a file's: letters as they are, and no name that another one could be taken for."""
    return f"{re.sub(r'[^A-Za-z0-9]', '', table)[:40]}.{digest(table)[:8]}"
