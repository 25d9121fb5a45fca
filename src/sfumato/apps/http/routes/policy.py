"""What the policy says: free, and nothing of it depends on rows."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from sfumato.apps.http.access import Who
from sfumato.apps.http.queue import Turns
from sfumato.apps.http.replies import BOTH, reply
from sfumato.apps.http.replies import rows as drawn
from sfumato.curator.dummy import STAMP

router = APIRouter(tags=["policy"])


@router.get("/v1/datasets", summary="The data sets that the token opens")
async def datasets(who: Who) -> Response:
    return reply({"name": who.name, "role": who.token.role.value, "datasets": [desk.described() for desk in who.desks]})


@router.get("/v1/datasets/{d}/tables", summary="What may be named in a question: names, types, ranges, keys")
async def tables(d: str, who: Who, turns: Turns, request: Request) -> Response:
    return reply({"tables": await turns.run(who.desk(d, request).tables)})


@router.get("/v1/datasets/{d}/terms", summary="What a client prices questions with")
async def terms(d: str, who: Who, turns: Turns, request: Request) -> Response:
    return reply(await turns.run(who.desk(d, request).terms))


@router.get("/v1/datasets/{d}/dummy", summary="Rows drawn from the policy alone, stamped DUMMY", responses=BOTH)
async def dummy(
    d: str,
    who: Who,
    turns: Turns,
    request: Request,
    table: Annotated[str, Query(min_length=1, max_length=200)],
    rows: Annotated[int, Query(ge=1, le=10_000)] = 100,
) -> Response:
    desk, accept = who.desk(d, request), request.headers.get("accept", "")
    return await turns.run(lambda: drawn(desk.dummy(table, rows), {"stamp": STAMP, "table": table}, accept))
