"""Starts the server: opens the policies, then lets uvicorn serve until it is told to stop."""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.apps.http.log import Log, Quiet
from sfumato.apps.http.settings import Settings
from sfumato.core.errors import BadInput
from sfumato.curator.dataset import open_dataset
from sfumato.curator.door.desk import Desk
from sfumato.curator.door.names import Names
from sfumato.curator.door.tokens import Tokens
from sfumato.curator.home import Home

if TYPE_CHECKING:
    import uvicorn

_GRACE = 60
"""Seconds that questions under way have to finish once the server is told to stop."""


def desks_of(policies: Sequence[str | Path], home: Home) -> list[Desk]:
    """One desk for each policy; two that could be taken for one another are refused."""
    desks = [
        Desk(dataset, names=Names(home.ledger_key(), dataset.policy.id))
        for dataset in (open_dataset(policy, home=home) for policy in policies)
    ]
    called = [word for desk in desks for word in {desk.id, desk.name}]
    if len(set(called)) < len(called):
        raise BadInput(
            "two of these policies have the same id or name, so a token could open the wrong one",
            hint="give every data set a name of its own",
        )
    return desks


def address_of(text: str) -> tuple[str, int]:
    """Host and port of `127.0.0.1:8000`."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 <= int(port) < 65536:
        raise BadInput("this is not an address", hint="write --http 127.0.0.1:8000")
    return host.strip("[]"), int(port)


def refuse_in_clear(host: str, *, tls: bool, behind_proxy: bool) -> None:
    """Tokens and answers do not travel in clear beyond this machine, unless someone said that a proxy sees to it."""
    if tls or behind_proxy or host == "localhost":
        return
    try:
        here = ipaddress.ip_address(host).is_loopback
    except ValueError:
        here = False
    if not here:
        raise BadInput(
            "beyond this machine tokens and answers would travel in clear",
            hint="give --tls-cert and --tls-key; or say --behind-proxy, which means that a proxy speaks TLS with the "
            "analysts and that nobody listens between it and this server",
        )


def server(
    policies: Sequence[str | Path],
    *,
    host: str,
    port: int,
    settings: Settings,
    tls: tuple[str, str] | None = None,
    behind_proxy: bool = False,
    home: Home | None = None,
    log: Log | None = None,
) -> uvicorn.Server:
    """A server that is ready to `run()`."""
    import uvicorn

    from sfumato.apps.http.app import create_app

    refuse_in_clear(host, tls=tls is not None, behind_proxy=behind_proxy)
    at, lines = home or Home.default(), log or Log()
    app = create_app(desks_of(policies, at), Tokens(at), settings=settings, log=lines)
    for name in ("uvicorn", "uvicorn.error", "asyncio"):
        logging.getLogger(name).handlers[:] = [Quiet(lines)]
        logging.getLogger(name).propagate = False
    certificate, key = tls or (None, None)
    return uvicorn.Server(
        uvicorn.Config(
            app,
            host=host,
            port=port,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            ssl_certfile=certificate,
            ssl_keyfile=key,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=_GRACE,
            limit_concurrency=1024,
            backlog=256,
        )
    )
