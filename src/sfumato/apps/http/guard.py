"""Around every request: a limit on its size, a reply whatever happens, padding, one line in the log."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, final

from sfumato.apps.http.log import Log
from sfumato.apps.http.metrics import Metrics
from sfumato.apps.http.settings import Settings
from sfumato.curator.door.refusals import MEDIA, problem
from sfumato.noise.secret import secret_bytes

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_ALWAYS = [
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
]


@final
class Guard:
    """ASGI middleware. What goes wrong inside is a fixed sentence outside; its kind, not its words, goes to the log."""

    def __init__(self, app: App, *, settings: Settings, log: Log, metrics: Metrics) -> None:
        self._app, self._settings, self._log, self._metrics = app, settings, log, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()
        seen = scope["sfumato"] = {"token": "", "name": "", "dataset": "", "code": ""}
        replies = await self._replied(scope, receive)
        if scope["path"].startswith("/v1/"):
            elapsed = time.perf_counter() - begun
            due = begun + elapsed + self._settings.padding.rest(elapsed)
            while (rest := due - time.perf_counter()) > 0:  # an event loop may wake a little early
                await asyncio.sleep(rest)
        status = int(replies[0]["status"])
        self._note(scope, status, seen)
        replies[0]["headers"] = [*replies[0]["headers"], *_ALWAYS]
        for each in replies:
            await send(each)

    async def _replied(self, scope: Scope, receive: Receive) -> list[Message]:
        refused = await self._body(scope, receive)
        if isinstance(refused, dict):
            return _said(refused)
        body, replies = refused, list[Message]()

        async def given() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        async def collect(message: Message) -> None:
            replies.append(message)

        try:
            await self._app(scope, given, collect)
        except Exception as error:
            scope["sfumato"]["code"] = "internal"
            self._log.write({"event": "error", "kind": type(error).__name__})
            return _said(
                problem(500, "something went wrong in the server; what it is stays there", hint="tell its owner")
            )
        return replies

    async def _body(self, scope: Scope, receive: Receive) -> bytes | dict[str, Any]:
        """The whole body, or why it is refused."""
        read = bytearray()
        try:
            async with asyncio.timeout(self._settings.patience):
                while True:
                    message = await receive()
                    read += message.get("body", b"")
                    if len(read) > self._settings.body:
                        return problem(413, "the request is too large", hint="ask for less at a time")
                    if message["type"] != "http.request" or not message.get("more_body"):
                        return bytes(read)
        except TimeoutError:
            return problem(408, "the request took too long to arrive", hint="send it again")

    def _note(self, scope: Scope, status: int, seen: dict[str, str]) -> None:
        route = getattr(scope.get("route"), "path", "") or "unknown"
        method = scope["method"] if scope["method"] in {"GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE"} else "OTHER"
        self._log.request(method=method, route=route, status=status, request=secret_bytes(6).hex(), **seen)
        self._metrics.count(dataset=seen["dataset"], route=route, status=status, code=seen["code"])


def _said(body: dict[str, Any]) -> list[Message]:
    content = json.dumps(body).encode()
    headers = [(b"content-type", MEDIA.encode()), (b"content-length", str(len(content)).encode())]
    if body["status"] in {408, 413}:
        headers.append((b"connection", b"close"))
    return [
        {"type": "http.response.start", "status": body["status"], "headers": headers},
        {"type": "http.response.body", "body": content},
    ]
