"""Budgets, and what the owner and the auditor look at."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from sfumato.apps.http.access import Who
from sfumato.apps.http.bodies import Freezing
from sfumato.apps.http.queue import Turns
from sfumato.apps.http.replies import reply
from sfumato.curator.door.tokens import Role

router = APIRouter(tags=["books"])


@router.get("/v1/datasets/{d}/budget", summary="Your own book; every book, for owner and auditor")
async def budget(d: str, who: Who, turns: Turns, request: Request) -> Response:
    desk = who.desk(d, request)
    if who.token.role is Role.ANALYST:
        return reply(await turns.run(desk.budget, who.name))
    return reply(await turns.run(desk.books))


@router.get("/v1/datasets/{d}/ledger", summary="Records of the ledger, verified; for owner and auditor")
async def ledger(
    d: str,
    who: Who,
    turns: Turns,
    request: Request,
    after: Annotated[int, Query(ge=0, le=2**53)] = 0,
    most: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    desk = who.desk(d, request)
    who.only(Role.OWNER, Role.AUDITOR)
    return reply(await turns.run(desk.ledger, after, most))


@router.get("/v1/datasets/{d}/incidents", summary="What stopped analysts, and why; for owner and auditor")
async def incidents(d: str, who: Who, turns: Turns, request: Request) -> Response:
    desk = who.desk(d, request)
    who.only(Role.OWNER, Role.AUDITOR)
    return reply({"incidents": await turns.run(desk.incidents)})


@router.post("/v1/datasets/{d}/freeze", summary="Stop an analyst, or everyone; or let them go on; for the owner")
async def freeze(d: str, body: Freezing, who: Who, turns: Turns, request: Request) -> Response:
    desk = who.desk(d, request)
    who.only(Role.OWNER)
    return reply(await turns.run(lambda: desk.freeze(body.analyst, frozen=body.frozen, reason=body.reason)))
