"""The line to a server: JSON over HTTP or HTTPS by the standard library, connections kept for the next, no redirects."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
from collections.abc import Mapping
from typing import Any, final
from urllib.parse import urlsplit

from sfumato.core.errors import BadInput, EngineFailed
from sfumato.curator.door.refusals import error_of

_HERE = {"127.0.0.1", "::1", "localhost"}
_GONE = (http.client.RemoteDisconnected, http.client.CannotSendRequest, BrokenPipeError, ConnectionResetError)


@final
class Line:
    """Sends the token with every request, and to nobody but this server."""

    def __init__(self, url: str, *, token: str, ca: str | None = None, timeout: float = 600.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.username:
            raise BadInput("this is not the address of a server", hint="write https://curator.example.org")
        if parts.scheme == "http" and parts.hostname not in _HERE:
            raise BadInput(
                "over http a token can be read by everyone on the way",
                hint="write https://; http is for a server on this machine",
            )
        if not token or any(not 33 <= ord(letter) <= 126 for letter in token):
            raise BadInput(
                "there is no token, or it is not one", hint="`sfumato token create` prints one; SFUMATO_TOKEN"
            )
        self._parts, self._timeout = parts, timeout
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        self._context = ssl.create_default_context(cafile=ca) if parts.scheme == "https" else None
        self._lock = threading.Lock()
        self._idle: list[http.client.HTTPConnection] = []

    def get(self, path: str) -> Any:
        return self._exchange("GET", path, None)

    def post(self, path: str, body: Mapping[str, Any], *, twice: bool = True) -> Any:
        """`twice`: it may be sent again on a new connection when the old one had ended. What is asked twice is replayed."""
        return self._exchange("POST", path, json.dumps(body).encode(), twice=twice)

    def _exchange(self, method: str, path: str, body: bytes | None, *, twice: bool = True) -> Any:
        headers = self._headers | ({} if body is None else {"Content-Type": "application/json"})
        where = self._parts.path.rstrip("/") + path
        try:
            try:
                status, content = self._once(method, where, body, headers)
            except _GONE:
                if not twice:
                    raise
                self.close()  # the others were left as long ago
                status, content = self._once(method, where, body, headers)
            found = json.loads(content)
        except (OSError, http.client.HTTPException):
            raise EngineFailed(
                "the server cannot be reached, or the line broke",
                hint="see that it runs; an answer that was charged meanwhile is replayed for free",
            ) from None
        except ValueError:
            raise BadInput("this server does not speak as sfumato does", hint="check its address") from None
        if status >= 300:
            raise error_of({"status": status, **found} if isinstance(found, dict) else {"status": status})
        return found

    def close(self) -> None:
        """Hang up. The next request calls again."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def __del__(self) -> None:
        if hasattr(self, "_idle"):
            self.close()

    def _once(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> tuple[int, bytes]:
        with self._lock:
            connection = self._idle.pop() if self._idle else self._new()
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            found = response.status, response.read()
        except BaseException:
            connection.close()
            raise
        with self._lock:
            self._idle.append(connection)
        return found

    def _new(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._context is None:
            return http.client.HTTPConnection(host, port, timeout=self._timeout)
        return http.client.HTTPSConnection(host, port, timeout=self._timeout, context=self._context)
