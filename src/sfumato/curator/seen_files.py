"""Whether a file changed under a version that was already read: by its size and time, never by what is in it.

Answers are replayed by version, so a file that changes under the same word would mix old answers with new rows. What was seen
is kept in the home, beside the heads of ledgers; it goes into no certificate, where it could tell that a row was there.
"""

from __future__ import annotations

import glob
import json
import os
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.canonical import digest
from sfumato.core.errors import NotAllowed
from sfumato.curator.policy.source import Place

if TYPE_CHECKING:
    from sfumato.curator.home import Home
    from sfumato.curator.policy import Policy


def check(policy: Policy, home: Home, tables: Iterable[str]) -> None:
    """Remember the files of these tables under the policy's version; refuse those that were others when first seen."""
    named = tuple(tables)
    for error in changed(policy, home, named):
        raise error
    file = _file(policy, home)
    known = _known(file)
    here = known.setdefault(policy.version, {})
    for table in named:
        if (mark := _mark(policy, table)) is not None:
            here[table] = mark
    if not file.exists() or json.loads(file.read_text()) != known:
        home.folder(file.parent)
        draft = file.with_name(f".{file.name}.{os.getpid()}.{threading.get_ident()}")  # threads of a server ask at once
        draft.write_text(json.dumps(known, sort_keys=True))
        draft.chmod(0o600)
        draft.replace(file)


def changed(policy: Policy, home: Home, tables: Iterable[str]) -> list[NotAllowed]:
    """The refusal for each of these tables whose files were others when first seen. Nothing is remembered."""
    here = _known(_file(policy, home)).get(policy.version, {})
    return [
        NotAllowed(
            f"a file of {table} changed, and its version is still {policy.version}: old answers would stand for new rows",
            hint="the owner says `sfumato version NAME`; the budget goes on as it is",
            code="SF019",
        )
        for table in tables
        if (mark := _mark(policy, table)) is not None and here.get(table, mark) != mark
    ]


def _file(policy: Policy, home: Home) -> Path:
    return home.path / "seen" / f"{digest(policy.id)[:32]}.json"


def _known(file: Path) -> dict[str, dict[str, str]]:
    return json.loads(file.read_text()) if file.exists() else {}


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
