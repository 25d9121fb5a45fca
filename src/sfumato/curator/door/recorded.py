"""Frames of a session behind a door: they are the same frames, and remember what was said to them, because that travels."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, final

from sfumato.curator.door.wording import Wording, in_sql, in_steps, then, verbs
from sfumato.queries.frame import Frame, Question, frame
from sfumato.queries.sql.parse import parse

if TYPE_CHECKING:
    from sfumato.curator.door.remote import RemoteSession


@final
class Recorded:
    """A frame, a grouped frame or a question of a remote session. Every verb is checked here first, then remembered."""

    __slots__ = ("_made", "_session", "wording")

    def __init__(self, made: Any, wording: Wording, session: RemoteSession) -> None:
        self._made, self.wording, self._session = made, wording, session

    def __getattr__(self, name: str) -> Any:
        made = self._made
        if name in verbs(type(made)):
            return self._saying(name)
        if name in {"plan", "schema", "name"}:
            return getattr(made, name)
        raise AttributeError(f"{type(made).__name__} has no attribute {name!r}")

    def _saying(self, verb: str) -> Callable[..., Recorded]:
        def say(*arguments: Any, **named: Any) -> Recorded:
            inner = [each._made if isinstance(each, Recorded) else each for each in arguments]
            made = getattr(self._made, verb)(*inner, **named)
            return Recorded(made, then(self.wording, verb, arguments, named), self._session)

        return say

    def sql(self, text: str) -> Recorded:
        """A question written in SQL, over the whole schema."""
        return self._session.sql(text)

    def preview(self, **price: Any) -> Any:
        """The priced question; free."""
        return self._session.preview(self, **price)

    def ask(self, **price: Any) -> Any:
        """The answer, charged."""
        return self._session.ask(self, **price)

    def __repr__(self) -> str:
        return f"Recorded({self._made!r})"


def table(session: RemoteSession, name: str) -> Recorded:
    """All the rows of a table."""
    found: Frame = frame(session.terms.schema, name)
    return Recorded(found, in_steps(name), session)


def sql(session: RemoteSession, text: str) -> Recorded:
    """A question in SQL, read here to be refused here."""
    schema = session.terms.schema
    return Recorded(Question(parse(text, schema), schema), in_sql(text), session)
