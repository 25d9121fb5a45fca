"""Where a table's rows are, as the policy says it: a kind, a colon, a place; never a password."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import final

KINDS = ("csv", "parquet", "duckdb", "postgresql", "spark")
_FILES = ("csv", "parquet", "duckdb")
_SECRETS = re.compile(r"://[^/@\s]*:[^/@\s]*@|\b(password|passwd|pwd|secret|token|apikey|api_key)\s*=", re.IGNORECASE)


def holds_secret(place: str) -> bool:
    """Whether a place carries a password or a token."""
    return _SECRETS.search(place) is not None


@final
@dataclass(frozen=True, slots=True)
class Place:
    """`csv:people.csv` is kind csv and place people.csv; `duckdb:clinic.db:stays` names a table of a file."""

    kind: str
    where: str

    @classmethod
    def parse(cls, source: str) -> Place:
        """ValueError with what is wrong; its text never repeats the source, which may hold a secret."""
        kind, colon, where = source.partition(":")
        if not colon or kind not in KINDS or not where:
            raise ValueError("is not a kind, a colon and a place")
        if holds_secret(source):
            raise ValueError("holds a password, and this file is meant to be shared")
        if kind in _FILES and "://" in where:
            raise ValueError("is an address, and rows are not fetched over a network")
        return cls(kind, where)

    @property
    def is_file(self) -> bool:
        return self.kind in _FILES

    def within(self, folder: Path, table: str) -> str:
        """The location as an engine takes it: files are found from the policy's folder, DuckDB files name their table."""
        match self.kind:
            case "csv" | "parquet":
                return f"{self.kind}:{folder / self.where}"
            case "duckdb":
                file, inner = self.duckdb(table)
                return f"duckdb:{folder / file}:{inner}"
            case _:
                return f"{self.kind}:{self.where}"

    def duckdb(self, table: str) -> tuple[str, str]:
        """The file, and the table in it: the policy's own name for it if the place says none."""
        file, colon, inner = self.where.rpartition(":")
        named = colon and inner and not {"/", "\\"} & set(inner)
        return (file, inner) if named else (self.where, table)
