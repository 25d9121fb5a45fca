"""What the policy says: free, and nothing of it depends on rows."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from sfumato.apps.http.access import Who
from sfumato.apps.http.queue import Turns
from sfumato.apps.http.replies import reply

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
