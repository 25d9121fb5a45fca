"""The routes as OpenAPI tells them, and what schemathesis makes of that: whatever is sent, no 5xx and no surprise."""

from __future__ import annotations

import json
import re
import sqlite3
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings


def test_the_document_is_openapi_and_the_page_loads_nothing(serve: Any) -> None:
    served = serve()
    _, document = served.call("GET", "/openapi.json")
    assert document["openapi"].startswith("3.1")
    status, headers, body = served.raw("GET", "/")
    page = body.decode()
    assert status == 200
    assert headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "<script" not in page
    assert not re.search(r"(src|href)\s*=\s*[\"'](https?:)?//", page)
    for path in document["paths"]:
        assert path in page


def test_every_reply_may_not_be_kept(serve: Any) -> None:
    served = serve()
    for path in ("/", "/healthz", "/v1/datasets", "/nothing"):
        _, headers, _ = served.raw("GET", path, token=served.token("ana"))
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert not {"server", "etag", "last-modified", "x-powered-by", "set-cookie"} & {
            name.lower() for name in headers
        }


def test_arrow_for_those_who_take_it(serve: Any) -> None:
    import pyarrow as pa

    served = serve()
    sent: dict[str, Any] = {"question": {"sql": "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"}, "epsilon": "0.5"}
    media = "application/vnd.apache.arrow.stream"
    status, headers, body = served.raw(
        "POST", "/v1/datasets/people/ask", token=served.token("ana"), body=json.dumps(sent).encode(), Accept=media
    )
    assert (status, headers["content-type"]) == (200, media)
    table = pa.ipc.open_stream(body).read_all()
    answer = served.session().ask(sent["question"]["sql"], epsilon="0.5")
    assert table.to_pylist() == answer.to_arrow().to_pylist()
    said = json.loads(table.schema.metadata[b"sfumato"])
    assert said["answer"] == answer.id
    assert said["spent"]["epsilon"] == "0.5"


def test_health_and_readiness(serve: Any) -> None:
    served = serve()
    assert served.call("GET", "/healthz") == (200, {"alive": True})
    assert served.call("GET", "/readyz") == (200, {"ready": True})
    with sqlite3.connect(served.policies[0].with_suffix(".ledger")) as ledger:
        ledger.execute("UPDATE head SET mac = 'forged'")
    ledger.close()
    assert served.call("GET", "/readyz") == (503, {"ready": False})
    status, body = served.call(
        "POST", "/v1/datasets/people/ask", {"question": {"sql": "SELECT COUNT(*) FROM people"}, "epsilon": "0.2"}
    )
    assert (status, body["code"]) == (503, "SF013")
    assert "record" not in body["title"]


def fuzz(served: Any, role: str, examples: int) -> int:
    """Requests made up from the document, sent with a good token; how many were sent."""
    import schemathesis

    schema = schemathesis.openapi.from_url(f"{served.url}/openapi.json")
    token, sent = served.token("eve", role), 0
    for operation in schema.get_all_operations():
        case_of = operation.ok().as_strategy()  # type: ignore[union-attr]

        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def send(case: Any) -> None:
            nonlocal sent
            sent += 1
            if "d" in (case.path_parameters or {}) and sent % 5:  # a name that is made up only shows that it is unknown
                case.path_parameters["d"] = "people"
            response = case.call(headers={"Authorization": f"Bearer {token}"})
            assert response.status_code < 500, (case.method, case.path, case.body, response.text)
            if response.status_code >= 400:
                assert "application/problem+json" in response.headers["content-type"]
                body = response.json()
                assert body["status"] == response.status_code
                assert {"type", "title", "hint", "code"} <= set(body)

        from hypothesis import given

        given(case=case_of)(send)()
    return sent


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("role", ["analyst", "owner"])
def test_whatever_is_sent_is_answered(serve: Any, role: str) -> None:
    served = serve()
    assert fuzz(served, role, examples=5) > 50
    served.ledger().verify()


@pytest.mark.torture
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("role", ["analyst", "owner", "auditor"])
def test_whatever_is_sent_is_answered_in_full(serve: Any, role: str, record_property: Any) -> None:
    served = serve(epsilon="1000000")
    record_property("requests", fuzz(served, role, examples=300))
    served.ledger().verify()
