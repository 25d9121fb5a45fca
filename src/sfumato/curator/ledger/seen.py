"""The last head seen, kept beside the key: a bare chain cannot notice that its own tail was cut."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import final

from sfumato.curator.home import Home


@final
@dataclass(frozen=True, slots=True)
class Seen:
    """One small file per data set; it only ever moves forward, whichever process writes it."""

    home: Home
    dataset: str

    @property
    def _path(self) -> Path:
        return self.home.heads / f"{self.dataset}.json"

    def read(self) -> tuple[int, str] | None:
        try:
            body = json.loads(self._path.read_text())
        except FileNotFoundError:
            return None
        return int(body["n"]), str(body["digest"])

    def advance(self, n: int, digest: str) -> None:
        self.home.folder(self.home.heads)
        with self._locked():
            before = self.read()
            if before is not None and before[0] >= n:
                return
            draft = self._path.with_name(f".{self._path.name}.{os.getpid()}")
            draft.write_text(json.dumps({"n": n, "digest": digest}))
            draft.replace(self._path)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        handle = os.open(self._path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)
