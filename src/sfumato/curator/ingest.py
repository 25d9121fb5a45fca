"""Copies of tables, rows of a unit side by side with their number beside them: bounded questions cost less on them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

from sfumato.core.canonical import digest
from sfumato.core.errors import BadInput
from sfumato.curator.home import Home
from sfumato.curator.policy import Policy
from sfumato.engines.base import Source

COUNTS = "sfumato_rows_of_unit"
"""The column that says how many rows of the table the row's unit has."""


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

    def sources(self, sources: Mapping[str, Source]) -> tuple[dict[str, Source], dict[str, str]]:
        """The sources with every table that has a copy read from it; and, for those, the column that counts."""
        found, counted = dict(sources), {}
        for table, source in sources.items():
            if source.location is not None and (file := self._file(table, source)).exists():
                found[table] = replace(source, location=f"parquet:{file}", counts=COUNTS, missing=())
                counted[table] = COUNTS
        return found, counted

    def ingest(self, table: str) -> Path:
        """Make the table's copy, whole or not at all, and remove its copies of other versions."""
        from sfumato.engines.duckdb import DuckDB

        source = self.policy.sources().get(table)
        if source is None or source.location is None:
            raise BadInput(f"there is no source of {table} to copy", hint="name a table whose source the policy gives")
        if source.unit is None:
            raise BadInput(
                f"every row of {table} is public or a unit of its own, so there is nothing to put side by side",
                hint="only tables with a column for their unit gain from a copy",
            )
        if COUNTS in {source.unit, *source.columns}:
            raise BadInput(f"{table} has a column called {COUNTS}", hint="give that column another name")
        file = self._file(table, source)
        self.home.folder(self.home.cache)
        self.home.folder(self.folder)
        draft = file.with_name(f".{file.name}.{os.getpid()}")
        spill = draft.with_suffix(".spill")
        try:
            engine = DuckDB({table: source}, look_in=[f"{self.folder.resolve()}{os.sep}"], spill=str(spill))
            engine.cluster(table, unit=source.unit, counts=COUNTS, file=str(draft.resolve()))
            engine.close()
            draft.chmod(0o600)
            draft.replace(file)
        finally:
            draft.unlink(missing_ok=True)
            with suppress(OSError):
                spill.rmdir()
        for other in self.folder.glob(f"{_stem(table)}-*.parquet"):
            if other != file:
                other.unlink(missing_ok=True)
        return file

    def _file(self, table: str, source: Source) -> Path:
        what = {
            "version": self.policy.version,
            "location": source.location or "",
            "columns": dict(source.columns),
            "unit": source.unit or "",
            "missing": list(source.missing),
        }
        return self.folder / f"{_stem(table)}-{digest(what)[:32]}.parquet"


def _stem(table: str) -> str:
    """The table's name as part of a file's: letters as they are, and no name that another one could be taken for."""
    return f"{re.sub(r'[^A-Za-z0-9]', '', table)[:40]}.{digest(table)[:8]}"
