"""Interactive mechanisms, under a lease."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from sfumato.apps.http.access import Who
from sfumato.apps.http.bodies import Counting, Starting
from sfumato.apps.http.queue import Turns
from sfumato.apps.http.replies import reply
from sfumato.curator.door.leases import unknown
from sfumato.curator.door.tokens import Role

router = APIRouter(tags=["mechanisms"])


@router.post("/v1/datasets/{d}/start", summary="Start an interactive mechanism, charged whole")
async def start(d: str, body: Starting, who: Who, turns: Turns, request: Request) -> Response:
    desk = who.desk(d, request)
    who.only(Role.ANALYST)
    given = {"epsilon": body.epsilon, "delta": body.delta, "public": dict(body.public)}
    return reply(await turns.run(lambda: desk.start(who.name, body.mechanism, **given)))  # type: ignore[arg-type]


@router.post("/v1/mechanisms/{mechanism}/ask", summary="The next reply of a mechanism")
async def ask(mechanism: str, body: Counting, who: Who, turns: Turns, request: Request) -> Response:
    who.only(Role.ANALYST)
    for desk in who.desks:
        if desk.leases.holds(mechanism, analyst=who.name):
            request.scope["sfumato"]["dataset"] = desk.id
            return reply(await turns.run(desk.reply, who.name, mechanism, body.question))
    raise unknown()
