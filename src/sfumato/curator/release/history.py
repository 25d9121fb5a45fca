"""What a data set has published, as its ledger tells it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from sfumato.curator.ledger.ledger import Ledger
from sfumato.curator.ledger.records import Kind, Record


@final
@dataclass(frozen=True, slots=True)
class Listed:
    """One release. `superseded`: by which edition, and why."""

    record: Record
    done: bool
    superseded: str

    def row(self) -> dict[str, str]:
        """For a table."""
        what = self.record.body["what"]
        return {
            "id": f"r-{self.record.n:06d}",
            "release": what["release"],
            "edition": what["edition"] + ("" if self.done else " (unfinished)"),
            "rows": what["version"],
            "at": self.record.body["at"],
            "superseded": self.superseded,
        }


def releases(ledger: Ledger) -> Iterator[Listed]:
    """Every release that was charged, oldest first."""
    found, done, stands = [], set(), {}
    for record in ledger.history():
        if record.kind is Kind.COMMIT:
            done.add(record.body["key"])
        if record.kind is Kind.RESERVE and "release" in record.body["what"]:
            found.append(record)
            what = record.body["what"]
            if what["supersedes"]:
                other = what["supersedes"]
                stands[what["release"], other["edition"]] = f"{what['edition']}: {other['reason']}"
    for record in found:
        what = record.body["what"]
        yield Listed(record, record.body["key"] in done, stands.get((what["release"], what["edition"]), ""))
