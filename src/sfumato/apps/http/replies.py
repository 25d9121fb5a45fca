"""Bodies that go out: JSON, and Arrow for those who take it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from sfumato.curator.door import wire

if TYPE_CHECKING:
    from sfumato.curator.answer import Answer

ARROW = "application/vnd.apache.arrow.stream"
BOTH: dict[int | str, dict[str, Any]] = {
    200: {"description": "The answer", "content": {"application/json": {}, ARROW: {}}}
}
"""What OpenAPI says of a route that answers in either form."""


def reply(body: Any, status: int = 200, media: str = "application/json") -> Response:
    """A body in JSON."""
    return Response(json.dumps(body, ensure_ascii=False), status, media_type=media)


def shown(answer: Answer, accept: str) -> Response:
    """An answer in the form that the caller takes: Arrow when it is asked for, else JSON."""
    if ARROW not in accept:
        return reply(wire.answer_to_json(answer))
    said = {key: value for key, value in answer.to_json().items() if key not in {"rows", "columns"}}
    return arrow(answer.to_arrow(), said)


def rows(table: Any, said: dict[str, Any], accept: str) -> Response:
    """Rows of an Arrow table in the form that the caller takes; `said` goes with them."""
    if ARROW in accept:
        return arrow(table, said)
    return Response(json.dumps({**said, "rows": table.to_pylist()}, default=str), media_type="application/json")


def arrow(table: Any, said: dict[str, Any]) -> Response:
    """A stream of Arrow; `said` is in its schema."""
    import pyarrow as pa

    found = table.replace_schema_metadata({"sfumato": json.dumps(said)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, found.schema) as writer:
        writer.write_table(found)
    return Response(sink.getvalue().to_pybytes(), media_type=ARROW)
