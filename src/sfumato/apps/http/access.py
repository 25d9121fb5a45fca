"""Who is asking: the token of a request, the data sets it opens, and the role it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, final

from fastapi import Depends
from fastapi.security import HTTPBearer
from starlette.requests import Request

from sfumato.core.errors import NotAllowed, NotFound
from sfumato.curator.door.tokens import Role, Token, Tokens

if TYPE_CHECKING:
    from sfumato.curator.door.desk import Desk
    from sfumato.curator.door.rates import Rates


class Stranger(Exception):
    """No token, or none that is good."""


class TooOften(Exception):
    """This token was used too often; `wait` is how long to wait, in seconds."""

    def __init__(self, wait: float) -> None:
        super().__init__()
        self.wait = wait


@final
@dataclass(frozen=True, slots=True)
class Caller:
    """A token that is good, and the desks that it opens."""

    token: Token
    desks: tuple[Desk, ...]

    @property
    def name(self) -> str:
        return self.token.name

    def only(self, *roles: Role) -> None:
        """NotAllowed for a token of another role."""
        if self.token.role not in roles:
            raise NotAllowed(
                f"this takes a token of the role {' or '.join(roles)}, and yours is of the role {self.token.role}",
                hint="a token is for one role: ask the owner for another one",
            )

    def desk(self, dataset: str, request: Request) -> Desk:
        """The data set of that id or name. One that the token does not open is as unknown as one that is not there."""
        for desk in self.desks:
            if dataset in (desk.id, desk.name):
                request.scope["sfumato"]["dataset"] = desk.id
                return desk
        raise NotFound("there is no data set of this name that your token opens", hint="GET /v1/datasets lists them")


@final
class Gate:
    """Turns the Authorization header into a caller."""

    def __init__(self, desks: Sequence[Desk], tokens: Tokens, rates: Rates) -> None:
        self._desks, self._tokens, self._rates = tuple(desks), tokens, rates

    def caller(self, request: Request) -> Caller:
        scheme, _, text = request.headers.get("authorization", "").partition(" ")
        token = self._tokens.find(text.strip()) if scheme.lower() == "bearer" else None
        if token is None:
            raise Stranger
        seen = request.scope["sfumato"]
        seen["token"], seen["name"] = token.id, token.name
        if wait := self._rates.wait(token.id):
            raise TooOften(wait)
        return Caller(token, tuple(desk for desk in self._desks if token.opens(desk.id, desk.name)))


_SCHEME = HTTPBearer(auto_error=False, scheme_name="token")


async def _caller(request: Request, _: Annotated[object, Depends(_SCHEME)]) -> Caller:
    gate: Gate = request.app.state.gate
    return gate.caller(request)


Who = Annotated[Caller, Depends(_caller)]
"""The parameter of a route that takes a token."""
