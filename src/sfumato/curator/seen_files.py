"""Whether a file changed under a version that was already read: by its size and time, never by what is in it.

Answers are replayed by version, so a file that changes under the same word would mix old answers with new rows. What was seen
is kept in the home, beside the heads of ledgers; it goes into no certificate, where it could tell that a row was there.
"""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from sfumato.core.canonical import digest
from sfumato.core.errors import NotAllowed
from sfumato.curator.policy.source import Place

if TYPE_CHECKING:
    from sfumato.curator.home import Home
    from sfumato.curator.policy import Policy


def check(policy: Policy, home: Home, tables: Iterable[str]) -> None:
    """Remember the files of these tables under the policy's version; refuse those that were others when first seen."""
    file = home.path / "seen" / f"{digest(policy.id)[:32]}.json"
    known = json.loads(file.read_text()) if file.exists() else {}
    here = known.setdefault(policy.version, {})
    for table in tables:
        mark = _mark(policy, table)
        if mark is None:
            continue
        if here.setdefault(table, mark) != mark:
            raise NotAllowed(
                f"a file of {table} changed, and its version is still {policy.version}: old answers would stand for new rows",
                hint="the owner says `sfumato version NAME`; the budget goes on as it is",
                code="SF019",
            )
    if not file.exists() or json.loads(file.read_text()) != known:
        home.folder(file.parent)
        draft = file.with_name(f".{file.name}.{os.getpid()}")
        draft.write_text(json.dumps(known, sort_keys=True))
        draft.chmod(0o600)
        draft.replace(file)


def _mark(policy: Policy, table: str) -> str | None:
    """Sizes and times of a table's files; None where it has none that can be seen."""
    source = policy.document.tables[table].source
    if source is None or not Place.parse(source).is_file:
        return None
    place = Place.parse(source)
    where = place.duckdb(table)[0] if place.kind == "duckdb" else place.where
    found = sorted(glob.glob(str(policy.folder / where)))
    marks = [(os.path.basename(name), os.stat(name).st_size, os.stat(name).st_mtime_ns) for name in found]
    return digest([list(map(str, each)) for each in marks])[:32] if marks else None
