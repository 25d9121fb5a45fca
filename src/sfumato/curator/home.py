"""Where keys, last heads and caches live: SFUMATO_HOME, or the platform's data directory; for the owner's eyes only."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import final

from sfumato.core.errors import LedgerDamaged
from sfumato.noise.secret import secret_bytes

_KEY_BYTES = 32


@final
@dataclass(frozen=True, slots=True)
class Home:
    """A folder of mode 0700; its secrets are files of mode 0600, made on first use."""

    path: Path

    @classmethod
    def default(cls) -> Home:
        if named := os.environ.get("SFUMATO_HOME"):
            return cls(Path(named))
        if sys.platform == "darwin":
            return cls(Path.home() / "Library" / "Application Support" / "sfumato")
        return cls(Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "sfumato")

    @property
    def key_file(self) -> Path:
        """Hosts that share a ledger share its key: SFUMATO_KEY_FILE names it."""
        named = os.environ.get("SFUMATO_KEY_FILE")
        return Path(named) if named else self.path / "ledger.key"

    @property
    def heads(self) -> Path:
        return self.path / "heads"

    @property
    def cache(self) -> Path:
        """Every copy of personal data that sfumato makes is below here; `purge` removes it, `doctor` lists it."""
        return self.path / "cache"

    def folder(self, path: Path) -> Path:
        """`path`, made if missing, closed to others."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path

    def copies(self) -> list[Path]:
        """Every file that may hold personal data."""
        return sorted(path for path in self.cache.rglob("*") if path.is_file() or path.is_symlink())

    def purge(self) -> list[Path]:
        """Remove them; what was removed."""
        found = self.copies()
        for path in found:
            path.unlink(missing_ok=True)
        for folder in sorted((path for path in self.cache.rglob("*") if path.is_dir()), reverse=True):
            with contextlib.suppress(OSError):  # another process has just written there
                folder.rmdir()
        return found

    @property
    def signing_file(self) -> Path:
        return self.path / "signing.pem"

    @property
    def audit_file(self) -> Path:
        """Where `sfumato audit --record` writes what it found: certificates name its digest."""
        return self.path / "audit.json"

    def signing_key(self, make: Callable[[], bytes]) -> bytes:
        """The key that releases are signed with, in PEM; `make` writes the first one."""
        self.folder(self.path)
        try:
            return _secret(self.signing_file, make)
        except OSError:
            raise LedgerDamaged(
                "the key that signs releases cannot be read or written",
                hint=f"let yourself read {self.signing_file.name} in the sfumato home, which nobody else may",
            ) from None

    def make_ledger_key(self) -> bytes:
        """The key of this home, made if there is none. Only a new ledger may ask for it this way."""
        self.folder(self.path)
        return _secret(self.key_file, lambda: secret_bytes(_KEY_BYTES))

    def ledger_key(self) -> bytes:
        """The key that ledgers are signed with. A ledger without it cannot be trusted, so a lost key stops spending."""
        try:
            key = self.key_file.read_bytes()
        except OSError:
            raise LedgerDamaged(
                "the key that signs the ledger is missing, so the ledger cannot be verified and spending stops",
                hint=f"restore {self.key_file.name} into the sfumato home, or name it with SFUMATO_KEY_FILE;"
                " of a new data set, `sfumato init --policy FILE` makes ledger and key",
                code="SF013",
            ) from None
        if len(key) != _KEY_BYTES:
            raise LedgerDamaged(
                "the key that signs the ledger is not one that sfumato made",
                hint=f"restore {self.key_file.name} from the backup",
                code="SF013",
            )
        return key


def _secret(path: Path, make: Callable[[], bytes]) -> bytes:
    """The content of `path`; when it does not exist, a new secret, written whole or not at all, by one process only."""
    if path.exists():
        return path.read_bytes()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secret_bytes(4).hex()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(handle, make())
        os.fsync(handle)
    finally:
        os.close(handle)
    with contextlib.suppress(FileExistsError):
        os.link(draft, path)  # fails when another process was first, and then its secret is the one
    draft.unlink()
    return path.read_bytes()
