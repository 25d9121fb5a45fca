"""The analyst as the adversary: nothing of a row, of another analyst, or of another role gets through the door."""

from __future__ import annotations

import json
import os
import re
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sfumato.apps.http.settings import Settings
from sfumato.core.errors import BudgetExceeded
from sfumato.curator.ledger.records import Charge
from sfumato.mechanisms import AboveThreshold

pytestmark = pytest.mark.slow

SENTINEL = "Zxq7Wv"
NUMBER = 77_031_977
COUNT = "SELECT COUNT(*) AS n FROM people"


def sentinels(count: int = 613) -> Any:
    """A table whose every cell, where its type allows, is one that nobody could guess."""
    return pa.table(
        {
            "person_id": [f"{SENTINEL}{i}" for i in range(count)],
            "sex": [f"{SENTINEL}sex" if i % 2 else "F" for i in range(count)],
            "age": [NUMBER] * count,
            "hours": [float(NUMBER)] * count,
            "born": ["1903-03-07"] * count,
            "town": [f"{SENTINEL}town{i}" for i in range(count)],
            "notes": [NUMBER] * count,
        }
    )


ROUTES = (
    ("GET", "/v1/datasets"),
    ("GET", "/v1/datasets/people/tables"),
    ("GET", "/v1/datasets/people/terms"),
    ("GET", "/v1/datasets/people/dummy?table=people"),
    ("POST", "/v1/datasets/people/preview"),
    ("POST", "/v1/datasets/people/ask"),
    ("POST", "/v1/datasets/people/ask-all"),
    ("POST", "/v1/datasets/people/refine"),
    ("POST", "/v1/datasets/people/start"),
    ("POST", "/v1/mechanisms/m-0/ask"),
    ("GET", "/v1/answers/a-0"),
    ("GET", "/v1/datasets/people/budget"),
    ("GET", "/v1/datasets/people/ledger"),
    ("GET", "/v1/datasets/people/incidents"),
    ("POST", "/v1/datasets/people/freeze"),
    ("GET", "/metrics"),
)
BODIES: dict[str, Any] = {
    "preview": {"question": {"sql": COUNT}, "epsilon": "0.1"},
    "ask": {"question": {"sql": COUNT}, "epsilon": "0.1"},
    "ask-all": {"questions": [{"question": {"sql": COUNT}, "epsilon": "0.1"}]},
    "refine": {"answer": "a-0", "epsilon": "0.1"},
    "start": {"mechanism": "AboveThreshold", "epsilon": "0.1", "public": {"threshold": "500"}},
    "freeze": {"analyst": "bob", "reason": "a test"},
}


def body_for(path: str) -> Any:
    if path.startswith("/v1/mechanisms"):
        return {"question": {"sql": COUNT}}
    return BODIES[path.rsplit("/", 1)[1]]


# -- rows --------------------------------------------------------------------------------------------------------------

NASTY = (
    COUNT,
    "SELECT sex, COUNT(*) AS n, AVG(age) AS a FROM people GROUP BY sex",
    "SELECT town, COUNT(DISTINCT person_id) AS n FROM people GROUP BY town",
    "SELECT MEDIAN(age) AS m FROM people",
    "SELECT * FROM people",
    "SELECT person_id FROM people",
    "SELECT MIN(person_id) FROM people",
    "SELECT MAX(notes) FROM people",
    "SELECT SUM(notes) FROM people",
    "SELECT CAST(town AS INTEGER) FROM people",
    "SELECT COUNT(*) FROM people WHERE CAST(town AS INTEGER) = 1",
    "SELECT COUNT(*) FROM people WHERE 1 / (age - 50) > 0",
    "SELECT COUNT(*) FROM people; DROP TABLE people",
    "SELECT COUNT(*) FROM read_parquet('people.parquet')",
    "SELECT COUNT(*) FROM 'people.parquet'",
    "SELECT COUNT(*) FROM information_schema.tables",
    "COPY people TO 'x.csv'",
    "ATTACH 'x.db'",
    "SELECT error(person_id) FROM people",
    "SELECT COUNT(*) FROM people WHERE person_id LIKE 'Z%'",
    "SELECT sex, COUNT(*) FROM people GROUP BY sex, notes",
    "'; SELECT 1; --",
    "SELECT COUNT(*) FROM people WHERE sex = '\u0000'",
    "((((((((((",
    "",
)


def test_no_cell_and_no_count_of_rows_leaves(serve: Any, tmp_path: Path) -> None:
    """Sentinels in every cell, 613 rows: none in any body, header or log line of any route, allowed or refused.

    The one exact number that may be seen is that of an answer's own noise: at epsilon 0.001 a count is 613 with
    probability below 1e-3, so what is searched for in answers is the sentinel, and in everything else the count too.
    """
    served = serve(data=sentinels())
    ana, owner = served.token("ana"), served.token("olga", "owner")
    said: list[bytes] = []
    for number, sql in enumerate(NASTY):
        for verb in ("preview", "ask"):
            priced = {"question": {"sql": sql}, "epsilon": "0.001"} | ({"delta": "1e-8"} if "town" in sql else {})
            status, headers, body = served.raw(
                "POST", f"/v1/datasets/people/{verb}", token=ana, body=json.dumps(priced).encode()
            )
            assert status < 500, (sql, status, body)
            said += [json.dumps(headers).encode(), body]
            if status != 200 or verb == "preview":
                assert not re.search(rb"\b613\b", body), (number, body)
    for method, path in ROUTES:
        for token in (ana, owner, None, "sfumato_0_0"):
            sent = json.dumps(body_for(path)).encode() if method == "POST" else None
            status, headers, body = served.raw(method, path, token=token, body=sent)
            assert status < 500
            said += [json.dumps(headers).encode(), body]
            assert "etag" not in {name.lower() for name in headers}
            assert not re.search(rb"\b613\b", body) or status == 200
    said.append(served.log.getvalue().encode())
    everything = b"\n".join(said)
    assert SENTINEL.encode() not in everything
    assert str(NUMBER).encode() not in everything
    assert b"duckdb" not in everything.lower()
    assert b"Traceback" not in everything


def test_an_engines_words_stay_inside(serve: Any, tmp_path: Path) -> None:
    """The file is spoiled in the middle, and shows no sign of it: one fixed sentence, a charge, a frozen analyst.

    With another size or time it would be refused before the charge.
    """
    served = serve(data=sentinels())
    served.session("ana").ask(COUNT, epsilon="0.1")
    file = tmp_path / "people.parquet"
    before = file.stat()
    file.write_bytes(f"{SENTINEL} is not Parquet".encode().ljust(before.st_size))
    status, body = served.call("POST", "/v1/datasets/people/ask", {"question": {"sql": COUNT}, "epsilon": "0.3"})
    assert (status, body["code"]) == (403, "SF019")
    assert served.ledger().totals().spent == Charge(Fraction(1, 10))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    status, body = served.call("POST", "/v1/datasets/people/ask", {"question": {"sql": COUNT}, "epsilon": "0.2"})
    assert status == 502
    assert SENTINEL not in json.dumps(body) + served.log.getvalue()
    assert body["title"].startswith("the engine could not compute")
    status, body = served.call("POST", "/v1/datasets/people/ask", {"question": {"sql": COUNT}, "epsilon": "0.2"})
    assert (status, body["type"]) == (403, "urn:sfumato:not-allowed")
    _, incidents = served.call("GET", "/v1/datasets/people/incidents", token=served.token("olga", "owner"))
    assert [each["analyst"] for each in incidents["incidents"]] == ["ana"]
    assert served.ledger().totals().spent == Charge(Fraction(3, 10))


def test_a_bug_is_one_sentence(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.curator.door.desk import Desk

    def broken(*_: Any, **__: Any) -> Any:
        raise ValueError(f"{SENTINEL} in row 613")

    served = serve()
    monkeypatch.setattr(Desk, "budget", broken)
    status, body = served.call("GET", "/v1/datasets/people/budget")
    assert (status, body["title"]) == (500, "something went wrong in the server; what it is stays there")
    assert SENTINEL not in json.dumps(body) + served.log.getvalue()
    assert '"kind": "ValueError"' in served.log.getvalue()


# -- other analysts ----------------------------------------------------------------------------------------------------


def view(served: Any, name: str, first: str) -> list[Any]:
    """All that an analyst can learn without a new charge, and by asking a question whose noise is fixed by `first`."""
    token = served.token(name)
    asked = served.call("POST", "/v1/datasets/people/ask", {"question": {"sql": first}, "epsilon": "0.5"}, token=token)
    found = [asked]
    for method, path in ROUTES:
        if path.endswith(("table=people", "ask", "ask-all", "start", "freeze")):
            continue
        found.append(served.call(method, path, body_for(path) if method == "POST" else None, token=token))
    found.append(served.call("GET", f"/v1/answers/{asked[1]['answer']}", token=token))
    return found


def stripped(value: Any) -> Any:
    """Without what is noise or a random name."""
    match value:
        case dict():
            skipped = {"rows", "releases", "answer", "within"}
            return {key: stripped(each) for key, each in value.items() if key not in skipped}
        case list() | tuple():
            return [stripped(each) for each in value]
        case _:
            return value


def test_what_others_do_cannot_be_seen(serve: Any, writes: Any, tmp_path: Path) -> None:
    """Two worlds: in one, twenty others have asked the same and other questions, refined, started, been frozen.

    They have left 1/2 of the data set's budget, less than ana's own.
    All that ana can read is the same, letter for letter, but for noise and names that tell nothing.
    """
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    quiet, busy = (
        serve(writes(tmp_path / each, epsilon="12", per_analyst="per_analyst = { default = 2 }"))
        for each in ("one", "two")
    )
    for place in range(20):
        other = busy.session(f"other{place}")
        answer = other.ask(COUNT, epsilon="0.5")
        other.ask(f"{COUNT} WHERE age > {place}", epsilon="0.5")
        if place == 3:
            answer.refine(epsilon="0.5")
            other.start(AboveThreshold, threshold=10, epsilon="0.5")
            busy.ledger().freeze("other3", reason="a test")
    one, two = view(quiet, "ana", COUNT), view(busy, "ana", COUNT)
    assert stripped(one) == stripped(two)
    said = json.dumps(two)
    assert "other" not in re.sub(r"another", "", said)
    assert not two[0][1]["replayed"]
    assert two[0][1]["charged"]["exact"] == "1/2"


def test_names_of_answers_tell_no_order_and_open_for_one_only(serve: Any) -> None:
    served = serve()
    ana, bob = served.session("ana"), served.session("bob")
    answer = ana.ask(COUNT, epsilon="0.5")
    same = bob.ask(COUNT, epsilon="0.5")
    assert same.rows == answer.rows
    assert same.id != answer.id
    refusals = set()
    names = (answer.id, "a-000003", "a-2", "../../etc/passwd", same.id.upper(), "a-" + "a" * 39, answer.id + "a", "%00")
    for name in names:
        status, body = served.call("GET", f"/v1/answers/{name.replace('/', '%2F')}", token=served.token("bob"))
        if name not in (same.id, same.id.upper()):
            assert status == 404
            refusals.add(json.dumps(body))
    assert len({each for each in refusals if "under the policy" in each}) == 1
    status, body = served.call(
        "POST", "/v1/datasets/people/refine", {"answer": answer.id, "epsilon": "0.1"}, token=served.token("bob")
    )
    assert status == 404
    assert bob.answer(same.id).rows == answer.rows


def test_a_mechanism_is_its_starters(serve: Any) -> None:
    served = serve()
    live = served.session("ana").start(AboveThreshold, threshold=500, epsilon=1)
    sent = {"question": {"sql": COUNT}}
    theirs = served.call("POST", f"/v1/mechanisms/{live.name}/ask", sent, token=served.token("bob"))
    nobodys = served.call("POST", "/v1/mechanisms/m-none/ask", sent, token=served.token("bob"))
    assert theirs == nobodys
    assert theirs[0] == 404
    assert served.call("POST", f"/v1/mechanisms/{live.name}/ask", sent)[0] == 200


# -- roles and data sets -----------------------------------------------------------------------------------------------

EVERYONE = {"/v1/datasets", "tables", "table=people", "terms", "preview", "budget"}
MAY = {
    "analyst": EVERYONE | {"ask", "ask-all", "refine", "start", "m-0/ask", "a-0"},
    "owner": EVERYONE | {"ledger", "incidents", "freeze", "/metrics"},
    "auditor": EVERYONE | {"ledger", "incidents"},
}


@pytest.mark.parametrize("role", MAY)
def test_a_token_is_for_one_role(serve: Any, role: str) -> None:
    """Every route by every role: what is not the role's is 403 whatever is sent; what is, is not."""
    served = serve()
    token = served.token("eve", role)
    for method, path in ROUTES:
        status, body = served.call(method, path, body_for(path) if method == "POST" else None, token=token)
        allowed = any(path.endswith(each) for each in MAY[role])
        assert (status != 403) == allowed, (role, path, status, body)
    if role != "analyst":
        assert served.ledger().totals().spent == Charge()


def test_no_route_is_open_that_should_not_be(serve: Any) -> None:
    served = serve()
    _, document = served.call("GET", "/openapi.json")
    routes = {(verb.upper(), path) for path, verbs in document["paths"].items() for verb in verbs}
    assert routes >= {("POST", "/v1/datasets/{d}/ask"), ("GET", "/metrics")}
    closed = {(method, re.sub(r"/people|/m-0|/a-0", "/{}", path.split("?")[0])) for method, path in ROUTES}
    assert {(verb, re.sub(r"{\w+}", "{}", path)) for verb, path in routes} == closed | {
        ("GET", "/healthz"),
        ("GET", "/readyz"),
    }
    for method, path in ROUTES:
        sent = json.dumps(body_for(path)).encode() if method == "POST" else None
        for token in (None, "", "x", "sfumato_000000000000_" + "A" * 43):
            assert served.raw(method, path, token=token, body=sent)[0] == 401
        assert served.raw(method, path, body=sent, Authorization="Basic YTpi")[0] == 401


def test_a_token_opens_its_data_sets_only(serve: Any, writes: Any, tmp_path: Path) -> None:
    served = serve(writes(tmp_path, name="people"), writes(tmp_path, name="patients"))
    token = served.token("ana", datasets="people")
    _, listed = served.call("GET", "/v1/datasets", token=token)
    assert [each["name"] for each in listed["datasets"]] == ["people"]
    unknown = served.call("GET", "/v1/datasets/nothing/tables", token=token)
    for place in ("patients", "d-patients", "people%2F..%2Fpatients", "PATIENTS"):
        assert served.call("GET", f"/v1/datasets/{place}/tables", token=token)[0] == 404
    assert served.call("GET", "/v1/datasets/patients/tables", token=token) == unknown
    both = served.token("bob")
    name = served.call("POST", "/v1/datasets/patients/ask", {"question": {"sql": COUNT}, "epsilon": "0.1"}, token=both)[
        1
    ]["answer"]
    assert served.call("GET", f"/v1/answers/{name}", token=both)[0] == 200
    assert served.call("GET", f"/v1/answers/{name}", token=served.token("bob", datasets="people"))[0] == 404
    metrics = served.raw("GET", "/metrics", token=served.token("olga", "owner", "people"))[2].decode()
    assert 'dataset="d-people"' in metrics
    assert "patients" not in metrics


def test_a_name_in_the_request_changes_nothing(serve: Any) -> None:
    """Whoever asks is who the token says, whatever else is sent."""
    served = serve()
    token = served.token("ana")
    for sent in (
        {"question": {"sql": COUNT}, "epsilon": "0.1", "analyst": "bob"},
        {"question": {"sql": COUNT, "analyst": "bob"}, "epsilon": "0.1"},
    ):
        assert served.call("POST", "/v1/datasets/people/ask", sent, token=token)[0] == 422
    status, _, _ = served.raw(
        "POST",
        "/v1/datasets/people/ask?analyst=bob&as=bob",
        token=token,
        body=json.dumps({"question": {"sql": COUNT}, "epsilon": "0.1"}).encode(),
        X_Forwarded_User="bob",
        X_Analyst="bob",
    )
    assert status == 200
    assert set(served.ledger().totals().books) == {"ana"}


# -- bodies ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b"[" * 50_000, b'{"a":' * 20_000, b'{"question": {"sql": "\\ud800"}}',
     b'{"question": {"sql": "SELECT 1"}, "epsilon": 0.1}', b'{"question": {"sql": "SELECT 1"}, "epsilon": "1e999999999"}',
     b'{"question": {"sql": "SELECT 1"}, "epsilon": "NaN"}',
     b'{"question": {"sql": "SELECT 1"}, "epsilon": "0.1", "at": 1e400}',
     b'{"question": {"sql": "SELECT 1"}, "epsilon": "1/0"}', b'{"question": 1, "epsilon": "1"}',
     b'{"question": {"table": 1.5}, "epsilon": "1"}', b"1" * 10_000],
    ids=lambda each: each[:40].decode("latin1"),
)  # fmt: skip
def test_malformed_bodies_are_refused(serve: Any, body: bytes) -> None:
    served = serve()
    for path in ("/v1/datasets/people/ask", "/v1/datasets/people/start"):
        status, headers, said = served.raw("POST", path, token=served.token("ana"), body=body)
        assert 400 <= status < 500
        assert headers["content-type"] == "application/problem+json"
        assert {"title", "status", "hint", "code"} <= set(json.loads(said))
    assert served.ledger().totals().spent == Charge()


def test_large_slow_and_endless_bodies(serve: Any) -> None:
    served = serve(settings=Settings(rate=0, patience=0.5, body=10_000))
    assert served.raw("POST", "/v1/datasets/people/ask", token=served.token("ana"), body=b" " * 20_000)[0] == 413
    host, port = served.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as line:
        line.sendall(b"POST /v1/datasets/people/ask HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n{")
        assert b"408" in line.recv(1000).split(b"\r\n")[0]
    assert served.call("GET", "/v1/datasets")[0] == 200


def test_a_token_that_is_used_too_often_waits(serve: Any) -> None:
    served = serve(settings=Settings(rate=0.01, burst=3))
    statuses = [served.raw("GET", "/v1/datasets", token=served.token("ana"))[0] for _ in range(5)]
    assert statuses == [200, 200, 200, 429, 429]
    _, headers, _ = served.raw("GET", "/v1/datasets", token=served.token("ana"))
    assert int(headers["retry-after"]) >= 1
    assert served.raw("GET", "/v1/datasets", token=served.token("bob"))[0] == 200


@pytest.mark.parametrize(
    "path",
    ["/..%2f..%2fetc/passwd", "/v1/../../etc/passwd", "/v1/datasets/..%2f..%2fpolicy.toml/tables", "/static/x",
     "/people.ledger", "/v1/answers/..%2f..%2ftokens.json", "/docs", "/redoc", "//v1/datasets", "/v1/datasets/"],
)  # fmt: skip
def test_there_are_no_files_here(serve: Any, path: str) -> None:
    served = serve()
    status, headers, body = served.raw("GET", path, token=served.token("ana"))
    assert status == 404
    assert headers["content-type"] == "application/problem+json"
    assert b"sqlite" not in body.lower()


def test_sql_in_every_field(serve: Any) -> None:
    served = serve(settings=Settings(rate=0))
    evil = "x'; DROP TABLE record; --"
    steps = (
        [["filter", [], {"sex": evil}], ["count", [], {}]],
        [["filter", [evil], {}], ["count", [], {}]],
        [["with_columns", [], {"x": evil}], ["count", [], {}]],
        [["agg", [], {evil: {"aggregate": {"kind": "rows"}}}]],
        [["count", [], {}], ["sort", [evil], {}]],
    )
    bodies = [{"question": {"table": "people", "steps": each}, "epsilon": "0.1"} for each in steps]
    bodies += [
        {"question": {"sql": evil}, "epsilon": "0.1"},
        {"question": {"table": evil, "steps": []}, "epsilon": "0.1"},
        {"question": {"sql": COUNT}, "epsilon": evil},
        {"question": {"sql": f'SELECT COUNT(*) AS "{evil}" FROM people'}, "epsilon": "0.1"},
    ]
    starts: list[dict[str, Any]] = [{"threshold": evil}, {"noise": evil}, {evil: "1"}]
    sent = [("ask", each) for each in bodies] + [
        ("refine", {"answer": evil, "epsilon": "0.1"}),
        ("start", {"mechanism": evil, "epsilon": "0.1"}),
        *[("start", {"mechanism": "AboveThreshold", "epsilon": "0.1", "public": each}) for each in starts],
    ]
    for path, body in sent:
        status, said = served.call("POST", f"/v1/datasets/people/{path}", body)
        assert status < 500, (path, body, said)
    owner = served.token("olga", "owner")
    assert served.call("POST", "/v1/datasets/people/freeze", {"analyst": evil, "reason": evil}, token=owner)[0] == 200
    served.ledger().verify()
    assert served.session().ask(COUNT, epsilon="0.1").rows


# -- money -------------------------------------------------------------------------------------------------------------


def collude(served: Any, analysts: int, each: int) -> tuple[int, set[str]]:
    """All analysts at once, each question at epsilon 1/2; how many were answered, and what the others were told."""
    answered, refused, lock = [0], list[str](), threading.Lock()
    sessions = [served.session(f"a{place}") for place in range(analysts)]

    def asks(place: int) -> None:
        for number in range(each):
            try:
                sessions[place].ask(f"{COUNT} WHERE age < {1 + (place * each + number) % 99}", epsilon="0.5")
                with lock:
                    answered[0] += 1
            except BudgetExceeded as error:
                with lock:
                    refused.append(error.message)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(asks, range(analysts)))
    return answered[0], set(refused)


@pytest.mark.slow
def test_a_hundred_colluding_analysts_stay_within_the_total(serve: Any) -> None:
    served = serve(epsilon="8", per_analyst="per_analyst = { default = 2 }")
    answered, refused = collude(served, 100, 2)
    ledger = served.ledger()
    ledger.verify()
    assert ledger.totals().spent.amount == 8
    assert all(book.amount <= 2 for book in ledger.totals().books.values())
    assert answered >= 16  # sixteen were charged; whoever asked one of these again was given the same
    assert refused == {"this costs more than the data set has left for all"}
