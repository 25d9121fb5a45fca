"""A data set behind a real server on loopback: uvicorn in a thread, with tokens of three roles."""

from __future__ import annotations

import io
import json
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.apps.http.log import Log
from sfumato.apps.http.run import server
from sfumato.apps.http.settings import Settings
from sfumato.curator.door.tokens import Role, Tokens
from sfumato.curator.home import Home
from sfumato.curator.policy import Policy

POLICY = """
[dataset]
name = "{name}"
id = "d-{name}"
version = "1"
size = 1000000
[unit]
kind = "person"
max_rows = 1
max_groups = 1
[budget]
epsilon = {epsilon}
delta = 1e-6
accountant = "{accountant}"
{per_analyst}
[tables.people]
source = "parquet:{name}.parquet"
unit = "person_id"
[tables.people.columns.sex]
type = "category"
values = ["F", "M"]
[tables.people.columns.age]
type = "integer"
range = [0, 100]
[tables.people.columns.hours]
type = "number"
range = [0, 99]
[tables.people.columns.born]
type = "date"
range = [1900-01-01, 2025-12-31]
[tables.people.columns.town]
type = "text"
values = "private"
[tables.people.columns.notes]
type = "integer"
"""


def rows(count: int = 1000) -> Any:
    """`count` people with one row each."""
    return pa.table(
        {
            "person_id": [f"p{i}" for i in range(count)],
            "sex": ["F" if i % 3 else "M" for i in range(count)],
            "age": [i % 90 for i in range(count)],
            "hours": [float(i % 60) for i in range(count)],
            "born": [f"{1920 + i % 90}-01-01" for i in range(count)],
            "town": ["ABC"[i % 3] for i in range(count)],
            "notes": list(range(count)),
        }
    )


@dataclass
class Served:
    """A server that runs, and what is needed to speak to it."""

    url: str
    home: Home
    policies: list[Path]
    log: io.StringIO
    made: dict[str, str] = field(default_factory=dict)

    def token(self, name: str, role: str = "analyst", datasets: str = "*") -> str:
        key = f"{name}/{role}/{datasets}"
        if key not in self.made:
            _, self.made[key] = Tokens(self.home).create(name, role=Role(role), datasets=[datasets], days=1)
        return self.made[key]

    def session(self, name: str = "ana", **options: Any) -> Any:
        return sf.connect(self.url, token=self.token(name), **options)

    def raw(
        self, method: str, path: str, *, token: str | None = None, body: bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Any request, and what came back: status, headers, body."""
        request = urllib.request.Request(self.url + path, data=body, method=method)
        if token is not None:
            request.add_header("Authorization", f"Bearer {token}")
        if body is not None:
            request.add_header("Content-Type", "application/json")
        for name, value in headers.items():
            request.add_header(name.replace("_", "-"), value)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, dict(response.headers), response.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, dict(error.headers), error.read()

    def call(self, method: str, path: str, body: Any = None, *, token: str | None = None) -> tuple[int, Any]:
        """A request in JSON, and the reply in JSON."""
        sent = None if body is None else json.dumps(body).encode()
        status, _, content = self.raw(method, path, token=token or self.token("ana"), body=sent)
        return status, json.loads(content) if content[:1] in b"{[" else content.decode()

    def ledger(self, place: int = 0) -> Any:
        return Policy.load(self.policies[place]).ledger(self.home)


Serve = Callable[..., Served]


def write_policy(
    folder: Path,
    *,
    name: str = "people",
    epsilon: str = "1000",
    accountant: str = "pure",
    per_analyst: str = "",
    data: Any = None,
) -> Path:
    pq.write_table(rows() if data is None else data, folder / f"{name}.parquet")
    path = folder / f"{name}.toml"
    path.write_text(POLICY.format(name=name, epsilon=epsilon, accountant=accountant, per_analyst=per_analyst))
    return path


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Serves policies on a free port until the test ends."""
    running: list[tuple[Any, threading.Thread]] = []

    def start(*policies: Path, settings: Settings | None = None, **how: Any) -> Served:
        chosen = list(policies) or [write_policy(tmp_path, **how)]
        home = Home(chosen[0].parent / "home")
        for path in chosen:
            if not path.with_suffix(".ledger").exists():
                Policy.load(path).new_ledger(home)
        lines = io.StringIO()
        port = free_port()
        made = server(
            chosen,
            host="127.0.0.1",
            port=port,
            settings=settings or Settings(rate=0),
            home=home,
            log=Log(lines),
        )
        thread = threading.Thread(target=made.run)
        thread.start()
        running.append((made, thread))
        until = time.monotonic() + 30
        while not made.started:
            assert time.monotonic() < until, "the server did not start"
            time.sleep(0.01)
        return Served(f"http://127.0.0.1:{port}", home, chosen, lines)

    yield start
    for made, thread in running:
        made.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def writes() -> Callable[..., Path]:
    """Writes a policy and its rows."""
    return write_policy
