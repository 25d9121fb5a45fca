"""The server of some data sets, as an ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from fastapi import FastAPI

from sfumato.apps.http.access import Gate
from sfumato.apps.http.bodies import Problem
from sfumato.apps.http.guard import Guard
from sfumato.apps.http.log import Log
from sfumato.apps.http.metrics import Metrics
from sfumato.apps.http.queue import Queue
from sfumato.apps.http.refuse import REFUSALS, handle_errors
from sfumato.apps.http.routes import books, mechanisms, policy, questions, server
from sfumato.apps.http.settings import Settings
from sfumato.curator.door.desk import Desk
from sfumato.curator.door.rates import Rates
from sfumato.curator.door.refusals import MEDIA
from sfumato.curator.door.tokens import Tokens

ROUTES = (policy.router, questions.router, mechanisms.router, books.router, server.router)


def create_app(
    desks: Sequence[Desk], tokens: Tokens, *, settings: Settings | None = None, log: Log | None = None
) -> FastAPI:
    """All routes, behind the guard."""
    limits = settings or Settings()
    queue = Queue(threads=limits.threads, waiting=limits.queue, patience=limits.patience)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        yield
        queue.close()

    app = FastAPI(
        title="sfumato",
        version="1",
        summary="Differentially private answers about sensitive tables",
        description="Every answer is charged to the budget of the analyst whose token asks, before it is computed.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        lifespan=life,
        redirect_slashes=False,
        responses={
            status: {"description": said, "content": {MEDIA: {"schema": _SCHEMA}}} for status, said in REFUSALS.items()
        },
    )
    app.state.desks, app.state.queue, app.state.metrics = tuple(desks), queue, Metrics()
    app.state.gate = Gate(desks, tokens, Rates(limits.rate, limits.burst))
    app.add_middleware(Guard, settings=limits, log=log or Log(), metrics=app.state.metrics)
    handle_errors(app)
    for router in ROUTES:
        app.include_router(router)
    return app


_SCHEMA = Problem.model_json_schema()
