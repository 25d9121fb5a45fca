"""`sfumato serve` and `sfumato token` as an operator uses them: real processes, killed, stopped, started again."""

from __future__ import annotations

import json
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import sfumato as sf
from sfumato.apps.cli import cli, exit_code
from sfumato.apps.http.run import address_of, refuse_in_clear
from sfumato.core.errors import BadInput, EngineFailed, SfumatoError
from sfumato.curator.home import Home
from sfumato.curator.ledger.records import Kind
from sfumato.curator.policy import Policy

POLICY = """
[dataset]
name = "people"
id = "d-people"
version = "1"
[unit]
kind = "person"
max_rows = 1
[budget]
epsilon = 1000
[tables.people]
source = "parquet:people.parquet"
unit = "person_id"
[tables.people.columns.age]
type = "integer"
range = [0, 100]
"""
COUNT = "SELECT COUNT(*) AS n FROM people WHERE age < {}"
MAIN = "from sfumato.apps.cli import main; main()"

Start = Callable[..., tuple[subprocess.Popen[str], str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A policy with its ledger, in a home of its own."""
    pq.write_table(
        pa.table({"person_id": list(range(500)), "age": [i % 90 for i in range(500)]}), tmp_path / "people.parquet"
    )
    (tmp_path / "policy.toml").write_text(POLICY)
    monkeypatch.setenv("SFUMATO_HOME", str(tmp_path / "home"))
    Policy.load(tmp_path / "policy.toml").new_ledger(Home.default())
    return tmp_path


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    """Starts servers on free ports, and kills what still runs."""
    running: list[subprocess.Popen[str]] = []

    def started(*options: str, scheme: str = "http", port: int | None = None) -> tuple[subprocess.Popen[str], str]:
        chosen = port or free_port()
        command = [sys.executable, "-c", MAIN, "serve", str(folder / "policy.toml"), "--http", f"127.0.0.1:{chosen}"]
        process = subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True)
        running.append(process)
        until = time.monotonic() + 60
        while True:
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
            assert time.monotonic() < until
            try:
                socket.create_connection(("127.0.0.1", chosen), timeout=1).close()
                return process, f"{scheme}://127.0.0.1:{chosen}"
            except OSError:
                time.sleep(0.05)

    yield started
    for process in running:
        process.kill()
        process.communicate()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def token(*arguments: str) -> str:
    done = CliRunner().invoke(cli, ["token", "create", *arguments], catch_exceptions=False)
    return done.stdout.strip().splitlines()[0]


def run(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(cli, arguments, env=environment)


@pytest.mark.slow
def test_a_killed_server_has_lost_nothing(start: Start, folder: Path) -> None:
    """kill -9 under load: what was answered is replayed to the letter, the ledger verifies, nothing is overspent."""
    process, url = start("--rate", "0")
    good = token("ana", "--datasets", "people")
    answered: dict[int, Any] = {}

    def asks(first: int) -> None:
        session = sf.connect(url, token=good)
        for number in range(first, first + 4000, 4):
            try:
                answered[number] = session.ask(COUNT.format(1 + number % 100), epsilon=f"0.0{100 + number}").rows
            except (EngineFailed, BadInput):
                return

    threads = [threading.Thread(target=asks, args=(first,)) for first in range(4)]
    for each in threads:
        each.start()
    while len(answered) < 40:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait(30)
    for each in threads:
        each.join()
    ledger = Policy.load(folder / "policy.toml").ledger(Home.default())
    ledger.verify()
    charged = [Fraction(each.body["total"]["amount"]) for each in ledger.history() if each.kind is Kind.RESERVE]
    assert sum(charged) == ledger.totals().spent.amount <= 1000
    assert len(charged) >= len(answered)
    _, url = start("--rate", "0")
    session = sf.connect(url, token=good)
    before = ledger.totals().spent
    for number, rows in answered.items():
        again = session.ask(COUNT.format(1 + number % 100), epsilon=f"0.0{100 + number}")
        assert again.replayed
        assert again.rows == rows
    assert ledger.totals().spent == before


@pytest.mark.slow
def test_a_stopped_server_finishes_what_it_has_begun(start: Start, folder: Path) -> None:
    process, url = start("--rate", "0", "--padding", "700ms")
    session = sf.connect(url, token=token("ana", "--datasets", "people"))
    preview = session.preview(COUNT.format(50), epsilon=1)
    found: list[Any] = []
    asking = threading.Thread(target=lambda: found.append(session.ask(preview)))
    asking.start()
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    asking.join()
    assert found[0].rows
    process.wait(30)
    assert Policy.load(folder / "policy.toml").ledger(Home.default()).totals().spent.amount == 1


@pytest.mark.slow
def test_over_tls_with_a_certificate_that_is_trusted(start: Start, folder: Path) -> None:
    certificate, key = self_signed(folder)
    _, url = start("--tls-cert", str(certificate), "--tls-key", str(key), scheme="https")
    good = token("ana", "--datasets", "people")
    assert sf.connect(url, token=good, ca=str(certificate)).ask(COUNT.format(50), epsilon=1).rows
    with pytest.raises(SfumatoError):
        sf.connect(url, token=good)  # nobody vouches for it
    with pytest.raises(OSError):
        urllib.request.urlopen(url.replace("https", "http"), timeout=5)


@pytest.mark.slow
def test_the_command_line_asks_a_server(start: Start) -> None:
    _, url = start()
    good = token("ana", "--datasets", "people")
    asked = run("ask", COUNT.format(50), "--epsilon", "0.5", "--server", url, "--format", "json", SFUMATO_TOKEN=good)
    body = json.loads(asked.stdout)
    assert body["spent"]["epsilon"] == "0.5"
    assert (
        "data set" not in run("preview", COUNT.format(50), "--epsilon", "1", "--server", url, SFUMATO_TOKEN=good).stdout
    )
    budget = json.loads(run("budget", "--server", url, "--format", "json", SFUMATO_TOKEN=good).stdout)
    assert (budget["analyst"], budget["spent"]["epsilon"]) == ("ana", "0.5")
    assert "age" in run("tables", "--server", url, SFUMATO_TOKEN=good).stdout
    for arguments, code, secret in (
        (("ask", "SELECT * FROM people", "--epsilon", "1"), 3, good),
        (("ask", COUNT.format(1), "--epsilon", "9999"), 4, good),
        (("budget",), 3, "sfumato_x"),
    ):
        refused = run(*arguments, "--server", url, SFUMATO_TOKEN=secret)
        assert isinstance(refused.exception, SfumatoError)
        assert exit_code(refused.exception) == code
    assert good not in asked.stdout + asked.stderr


def self_signed(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1, and its key."""
    from ipaddress import ip_address

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "sfumato test")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate, secret = folder / "cert.pem", folder / "key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    ssl.create_default_context(cafile=str(certificate))
    return certificate, secret


def test_nothing_travels_in_clear_beyond_this_machine() -> None:
    for host in ("0.0.0.0", "::", "10.0.0.1", "example.org"):
        with pytest.raises(BadInput, match="in clear"):
            refuse_in_clear(host, tls=False, behind_proxy=False)
        refuse_in_clear(host, tls=True, behind_proxy=False)
        refuse_in_clear(host, tls=False, behind_proxy=True)
    for host in ("127.0.0.1", "::1", "localhost", "127.0.0.2"):
        refuse_in_clear(host, tls=False, behind_proxy=False)


def test_addresses_are_read() -> None:
    assert address_of("127.0.0.1:8000") == ("127.0.0.1", 8000)
    assert address_of("[::1]:80") == ("::1", 80)
    for wrong in ("8000", "a:b", ":1", "h:70000", ""):
        with pytest.raises(BadInput):
            address_of(wrong)


def test_tokens_are_made_listed_and_revoked(folder: Path) -> None:
    text = token("ana", "--datasets", "people", "--expires", "7d")
    listed = CliRunner().invoke(cli, ["token", "list", "--format", "json"], catch_exceptions=False).stdout
    assert text not in listed
    (row,) = json.loads(listed)
    assert (row["name"], row["role"], row["datasets"], row["state"]) == ("ana", "analyst", "people", "good")
    CliRunner().invoke(cli, ["token", "revoke", row["id"]], catch_exceptions=False)
    again = json.loads(CliRunner().invoke(cli, ["token", "list", "--format", "json"]).stdout)
    assert again[0]["state"] == "revoked"
    with pytest.raises(BadInput):
        CliRunner().invoke(
            cli, ["token", "create", "ana", "--datasets", "x", "--expires", "soon"], catch_exceptions=False
        )


def test_two_policies_that_a_token_could_mistake_are_refused(folder: Path) -> None:
    from sfumato.apps.http.run import desks_of

    with pytest.raises(BadInput, match="same id or name"):
        desks_of([folder / "policy.toml", folder / "policy.toml"], Home.default())
