"""The server itself: whether it lives, what it counts, what it offers."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from sfumato.apps.http.access import Who
from sfumato.apps.http.page import page
from sfumato.apps.http.queue import Turns
from sfumato.apps.http.replies import reply
from sfumato.core.errors import SfumatoError
from sfumato.curator.door.tokens import Role

router = APIRouter(tags=["server"])


@router.get("/metrics", summary="Counters and budgets for Prometheus; for the owner")
async def metrics(who: Who, turns: Turns, request: Request) -> Response:
    who.only(Role.OWNER)
    text = await turns.run(request.app.state.metrics.text, who.desks)
    return Response(text, media_type="text/plain; version=0.0.4")


@router.get("/healthz", summary="Whether the server lives")
async def health() -> Response:
    return reply({"alive": True})


@router.get("/readyz", summary="Whether every ledger verifies")
async def ready(turns: Turns, request: Request) -> Response:
    desks = request.app.state.desks

    def verified() -> bool:
        try:
            return all(desk.dataset.ledger.position() for desk in desks)
        except SfumatoError:
            return False

    good = await turns.run(verified)
    return reply({"ready": good}, 200 if good else 503)


@router.get("/", include_in_schema=False)
async def documentation(request: Request) -> Response:
    return Response(page(request.app.openapi()), media_type="text/html; charset=utf-8")
