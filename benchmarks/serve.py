"""The server under load, on loopback: replays and new questions a second, the wait of 64 clients, memory, a kill.

The server is `sfumato serve` in a process of its own; the load comes from this one. All of it is bounded: a few minutes.
`python benchmarks/serve.py [--requests 20000] [--seconds 8]`
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Awaitable, Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.curator.door.tokens import Role, Tokens
from sfumato.curator.home import Home
from sfumato.curator.ledger.ledger import Ledger
from sfumato.curator.ledger.records import Kind
from sfumato.curator.policy import Policy

POLICY = """
[dataset]
name = "people"
id = "d-load"
version = "1"
[unit]
kind = "person"
max_rows = 1
[budget]
epsilon = 1000000
[tables.people]
source = "parquet:people.parquet"
unit = "person_id"
[tables.people.columns.sex]
type = "category"
values = ["F", "M"]
[tables.people.columns.age]
type = "integer"
range = [0, 100]
"""
BY_SEX = "SELECT sex, COUNT(*) AS n FROM people WHERE age < {} GROUP BY sex"


class Server:
    """`sfumato serve` on a free port, with the tokens of some analysts."""

    def __init__(self, folder: Path, port: int, analysts: int = 64) -> None:
        self.folder, self.port, self.home = folder, port, Home(folder / "home")
        people = {"person_id": list(range(1000)), "sex": ["F", "M"] * 500, "age": [i % 90 for i in range(1000)]}
        pq.write_table(pa.table(people), folder / "people.parquet")
        (folder / "policy.toml").write_text(POLICY)
        Policy.load(folder / "policy.toml").new_ledger(self.home)
        made = Tokens(self.home)
        self.tokens = [made.create(f"a{i}", role=Role.ANALYST, datasets=["people"], days=1)[1] for i in range(analysts)]
        self.process = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        command = "from sfumato.apps.cli import main; main()"
        address = f"127.0.0.1:{self.port}"
        arguments = ["serve", str(self.folder / "policy.toml"), "--http", address, "--rate", "0"]
        environment = {**os.environ, "SFUMATO_HOME": str(self.home.path)}
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen([sys.executable, "-c", command, *arguments], env=environment, stderr=log)
        for _ in range(200):
            try:
                urllib.request.urlopen(f"http://{address}/healthz", timeout=1).close()
                return process
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("the server did not start")

    def ledger(self) -> Ledger:
        return Policy.load(self.folder / "policy.toml").ledger(self.home)

    def memory(self) -> float:
        """What the server holds, in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+)", status)
        return int(found[1]) / 1000 if found else float("nan")

    def cpu(self) -> float:
        """Seconds of a core that the server has used."""
        spent = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(spent[11]) + int(spent[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


class Client:
    """One connection that is kept, as plain as can be: the load must not cost more than what it measures."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.token = port, token
        self.reader: asyncio.StreamReader | None = None
        self.writer: asyncio.StreamWriter | None = None

    async def ask(self, sql: str, epsilon: str) -> tuple[int, bytes]:
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        assert self.reader is not None
        body = json.dumps({"question": {"sql": sql}, "epsilon": epsilon}).encode()
        head = (
            f"POST /v1/datasets/people/ask HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self.writer.write(head.encode() + body)
        await self.writer.drain()
        answer = await self.reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", answer, re.I)
        content = await self.reader.readexactly(int(length[1]) if length else 0)
        return int(answer[9:12]), content

    async def close(self) -> None:
        if self.writer is not None:
            self.writer.close()


Work = Callable[[Client, int], Awaitable[tuple[int, bytes]]]


async def flood(clients: list[Client], work: Work, seconds: float, limit: int = 10**9) -> tuple[float, int, int]:
    """As fast as it goes: replies a second, how many there were, and how many were not 200."""
    until, count, wrong = time.perf_counter() + seconds, 0, 0

    async def one(client: Client) -> None:
        nonlocal count, wrong
        while time.perf_counter() < until and count < limit:
            count += 1
            status, _ = await work(client, count)
            wrong += status != 200

    begun = time.perf_counter()
    await asyncio.gather(*(one(client) for client in clients))
    return count / (time.perf_counter() - begun), count, wrong


async def paced(clients: list[Client], work: Work, rate: float, seconds: float) -> list[float]:
    """Requests at a steady rate over all clients; how long each waited, counted from when it was due."""
    begun, waits, number = time.perf_counter(), list[float](), 0
    gap = len(clients) / rate

    async def one(client: Client, place: int) -> None:
        nonlocal number
        due = begun + gap * place / len(clients)
        while due < begun + seconds:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            number += 1
            status, _ = await work(client, number)
            assert status == 200
            waits.append(time.perf_counter() - due)
            due += gap

    await asyncio.gather(*(one(client, place) for place, client in enumerate(clients)))
    return waits


async def replay(client: Client, number: int) -> tuple[int, bytes]:
    return await client.ask(BY_SEX.format(30 + number % 8), "0.1")


class Fresh:
    """Questions that were never asked: another filter and another price each time."""

    def __init__(self) -> None:
        self.asked = 0

    async def __call__(self, client: Client, number: int) -> tuple[int, bytes]:
        self.asked += 1
        return await client.ask(BY_SEX.format(1 + self.asked % 89), f"0.{100_000 + self.asked}")


async def load(server: Server, requests: int, seconds: float) -> None:
    fresh = Fresh()
    clients = [Client(server.port, token) for token in server.tokens]
    for client in clients:  # everyone pays once; from then on these are replays
        for number in range(8):
            assert (await replay(client, number))[0] == 200
    print(f"memory after the first {8 * len(clients)} requests: {server.memory():.0f} MB")
    cpu = server.cpu()
    replays, count, wrong = await flood(clients[:16], replay, seconds)
    cost = (server.cpu() - cpu) / count
    print(f"replays: {replays:.0f} a second (at least 800), {wrong} failed; {1e3 * cost:.2f} ms of a core each")
    before, cpu = server.ledger().position().n, server.cpu()
    new, count, wrong = await flood(clients[:16], fresh, seconds)
    records, cost = server.ledger().position().n - before, (server.cpu() - cpu) / count
    print(
        f"new questions: {new:.0f} a second (at least 60), {wrong} failed; {1e3 * cost:.1f} ms of a core each, "
        f"{records} records, each commit durable"
    )
    for name, work, rate in (("replays", replay, min(replays, 800) / 2), ("new questions", fresh, min(new, 60) / 2)):
        waits = sorted(await paced(clients, work, rate, seconds))
        p50, p99 = statistics.median(waits), waits[int(0.99 * len(waits))]
        print(f"64 clients, {rate:.0f} {name} a second: median {1e3 * p50:.0f} ms, p99 {1e3 * p99:.0f} ms (under 250)")
    start, seen = server.memory(), [server.memory()]
    for _ in range(10):
        await flood(clients[:16], replay, 600.0, requests // 10)
        seen.append(server.memory())
    print(f"memory over {requests} requests: {start:.0f} MB, then {', '.join(f'{each:.0f}' for each in seen[1:])} MB")
    for client in clients:
        await client.close()


async def kill(server: Server, seconds: float) -> None:
    """kill -9 under load, then everything that was answered must be in the ledger, and the ledger must verify."""
    fresh, answered = Fresh(), dict[str, list[Any]]()
    fresh.asked = 400_000
    clients = [Client(server.port, token) for token in server.tokens[:16]]

    async def asking(client: Client) -> None:
        while True:
            fresh.asked += 1
            sql, epsilon = BY_SEX.format(1 + fresh.asked % 89), f"0.{100_000 + fresh.asked}"
            try:
                status, content = await client.ask(sql, epsilon)
            except (OSError, asyncio.IncompleteReadError):
                return
            if status == 200:
                answered[json.dumps([client.token, sql, epsilon])] = json.loads(content)["releases"]

    tasks = [asyncio.create_task(asking(client)) for client in clients]
    await asyncio.sleep(seconds)
    server.process.kill()
    server.process.wait()
    await asyncio.gather(*tasks)
    server.process = server.start()
    ledger = server.ledger()
    ledger.verify()
    spent = sum((Fraction(r.body["total"]["amount"]) for r in ledger.history() if r.kind is Kind.RESERVE), Fraction(0))
    assert spent == ledger.totals().spent.amount <= ledger.totals().caps.total.amount
    lost = 0
    for key, releases in answered.items():
        token, sql, epsilon = json.loads(key)
        client = Client(server.port, token)
        status, content = await client.ask(sql, epsilon)
        body = json.loads(content)
        lost += status != 200 or body["releases"] != releases or not body["replayed"]
        await client.close()
    print(
        f"kill -9 under load: {len(answered)} answers were out, {lost} lost; the ledger verifies, nothing is overspent"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--port", type=int, default=8977)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder), given.port)
        try:
            print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
            asyncio.run(load(server, given.requests, given.seconds))
            asyncio.run(kill(server, min(3.0, given.seconds)))
        finally:
            server.stop()


if __name__ == "__main__":
    main()
