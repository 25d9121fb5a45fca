"""Who may come in: tokens of 256 bits, of which only a hash is kept, each for one name, one role and some data sets."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import hashlib
import hmac
import json
import os
import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from sfumato.core.errors import BadInput
from sfumato.noise.secret import secret_bytes

if TYPE_CHECKING:
    from sfumato.curator.home import Home

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}")
_TOKEN = re.compile(r"sfumato_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_NOBODY = hashlib.sha256(b"nobody").hexdigest()


class Role(StrEnum):
    """What a token is for. None includes another: an owner who wants to ask takes an analyst's token."""

    ANALYST = "analyst"
    """Asks, and pays from the book of its name."""
    OWNER = "owner"
    """Reads the ledger, looks at incidents, freezes."""
    AUDITOR = "auditor"
    """Reads the ledger."""


@final
@dataclass(frozen=True, slots=True)
class Token:
    """What is kept of a token. `datasets` are ids or names; "*" is every data set of the server."""

    id: str
    name: str
    role: Role
    datasets: tuple[str, ...]
    created: str
    expires: str
    hash: str
    revoked: bool = False

    def opens(self, *names: str) -> bool:
        """Whether it is for a data set that goes by one of these names."""
        return "*" in self.datasets or any(name in self.datasets for name in names)

    def valid(self, now: datetime) -> bool:
        return not self.revoked and now < datetime.fromisoformat(self.expires)


@final
class Tokens:
    """The tokens of a home, in one file of mode 0600. A change is seen by servers that run."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._path = home.path / "tokens.json"
        self._lock = threading.Lock()
        self._known: tuple[tuple[int, int, int], dict[str, Token]] | None = None

    def create(self, name: str, *, role: Role, datasets: Sequence[str], days: int) -> tuple[Token, str]:
        """A new token, and its text: the only time that it is seen."""
        if not _NAME.fullmatch(name):
            raise BadInput(
                "a name is made of letters, digits and . _ @ + -, 64 at most",
                hint="use the name that the budget knows the analyst by",
            )
        wanted = tuple(dict.fromkeys(each.strip() for each in datasets if each.strip()))
        if not wanted:
            raise BadInput("a token opens at least one data set", hint="name it with --datasets, by its id or name")
        if not 1 <= days <= 3660:
            raise BadInput("a token lasts from a day to ten years", hint="say --expires 90d")
        now = datetime.now(UTC).replace(microsecond=0)
        secret = base64.urlsafe_b64encode(secret_bytes(32)).rstrip(b"=").decode()
        token = Token(
            secret_bytes(6).hex(),
            name,
            role,
            wanted,
            now.isoformat(),
            (now + timedelta(days=days)).isoformat(),
            _hash(secret),
        )
        with self._changing() as tokens:
            tokens[token.id] = token
        return token, f"sfumato_{token.id}_{secret}"

    def revoke(self, name: str) -> list[Token]:
        """End the token with this id, or every token of this name; what was ended."""
        with self._changing() as tokens:
            ended = [each for each in tokens.values() if name in (each.id, each.name) and not each.revoked]
            tokens |= {each.id: replace(each, revoked=True) for each in ended}
        if not ended:
            raise BadInput("there is no such token", hint="`sfumato token list` shows those there are")
        return ended

    def list(self) -> list[Token]:
        """All of them, oldest first."""
        return sorted(self._read().values(), key=lambda each: (each.created, each.id))

    def find(self, text: str) -> Token | None:
        """Whose token this is, if it is one and still good. The comparison takes the same time for any text."""
        shape = _TOKEN.fullmatch(text)
        token = self._read().get(shape[1]) if shape else None
        kept = token.hash if token is not None else _NOBODY
        same = hmac.compare_digest(_hash(shape[2] if shape else ""), kept)
        if token is None or not same or not token.valid(datetime.now(UTC)):
            return None
        return token

    def _read(self) -> dict[str, Token]:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return {}
        mark = (found.st_mtime_ns, found.st_size, found.st_ino)
        with self._lock:
            if self._known is None or self._known[0] != mark:
                self._known = mark, _tokens(self._path)
            return dict(self._known[1])

    @contextlib.contextmanager
    def _changing(self) -> Iterator[dict[str, Token]]:
        """The tokens, to be changed; written whole or not at all, by one process at a time."""
        self._home.folder(self._home.path)
        handle = os.open(self._path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            tokens = _tokens(self._path) if self._path.exists() else {}
            yield tokens
            draft = self._path.with_name(f".{self._path.name}.{os.getpid()}")
            out = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(out, "w") as file:
                json.dump([asdict(each) for each in tokens.values()], file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self._path)
        finally:
            os.close(handle)


def _tokens(path: Path) -> dict[str, Token]:
    try:
        read: list[dict[str, Any]] = json.loads(path.read_text())
        found = [Token(**{**each, "role": Role(each["role"]), "datasets": tuple(each["datasets"])}) for each in read]
    except (ValueError, TypeError, KeyError):
        raise BadInput(
            f"{path.name} in the sfumato home cannot be read, so nobody can come in",
            hint="restore it from the backup, or remove it and create the tokens anew",
        ) from None
    return {each.id: each for each in found}


def _hash(secret: str) -> str:
    """A plain hash will do: 256 random bits are not guessed."""
    return hashlib.sha256(secret.encode()).hexdigest()
