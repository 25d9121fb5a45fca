"""Every refusal as problem+json; none repeats what was sent, except the words of a question to who asked it."""

from __future__ import annotations

import math
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from sfumato.apps.http.access import Stranger, TooOften
from sfumato.apps.http.queue import Busy
from sfumato.apps.http.replies import reply
from sfumato.core.errors import SfumatoError
from sfumato.curator.door.refusals import MEDIA, problem, problem_of

REFUSALS = {
    400: "not a body that can be read",
    401: "no token that is good",
    403: "refused for privacy, or not for this role",
    404: "not there, or another's",
    409: "more than the budget has left",
    413: "too large",
    422: "not a question, or not of this form",
    429: "too often",
    503: "busy, or the ledger does not verify",
}


def handle_errors(app: FastAPI) -> None:
    """One handler for each kind of error there is."""

    @app.exception_handler(SfumatoError)
    async def ours(request: Request, error: SfumatoError) -> Response:
        return _refused(request, problem_of(error))

    @app.exception_handler(Stranger)
    async def stranger(request: Request, _: Stranger) -> Response:
        body = problem(401, "this takes a token, and there is none that is good", hint="Authorization: Bearer TOKEN")
        return _refused(request, body, **{"WWW-Authenticate": "Bearer"})

    @app.exception_handler(TooOften)
    async def too_often(request: Request, error: TooOften) -> Response:
        body = problem(429, "this token is used too often", hint="wait, and ask again")
        return _refused(request, body, **{"Retry-After": str(math.ceil(error.wait))})

    @app.exception_handler(Busy)
    async def busy(request: Request, _: Busy) -> Response:
        body = problem(503, "too many questions wait for their turn; nothing was charged", hint="ask again in a moment")
        return _refused(request, body, **{"Retry-After": "1"})

    @app.exception_handler(RequestValidationError)
    async def malformed(request: Request, error: RequestValidationError) -> Response:
        places = sorted({".".join(str(part) for part in each["loc"][:2])[:60] for each in error.errors()})[:5]
        body = problem(
            422, "the request is not of the form that this route takes", hint=f"look at {', '.join(places)}; see GET /"
        )
        return _refused(request, body)

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> Response:
        titles = {404: "there is nothing here", 405: "this is not done here"}
        title = titles.get(error.status_code, "the request cannot be read")
        body = problem(error.status_code, title, hint="GET / lists what there is")
        return _refused(request, body, **(error.headers or {}))


def _refused(request: Request, body: dict[str, Any], **headers: str) -> Response:
    request.scope["sfumato"]["code"] = body["code"] or str(body["status"])
    response = reply(body, body["status"], MEDIA)
    response.headers.update(headers)
    return response
