"""Interactive mechanisms by name, as they are started from afar, and their replies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import BadInput
from sfumato.core.exact import fraction
from sfumato.mechanisms.number.bounded_noise import BoundedNoise
from sfumato.mechanisms.number.online_bounded_noise import OnlineBoundedNoise
from sfumato.mechanisms.stream.above_threshold import AboveThreshold
from sfumato.mechanisms.stream.sparse_vector import SparseVector
from sfumato.mechanisms.stream.threshold import Reply

if TYPE_CHECKING:
    from sfumato.mechanisms.stream.interactive import Interactive

STARTABLE: Mapping[str, type[Interactive[Any]]] = {
    kind.__name__: kind for kind in (AboveThreshold, SparseVector, BoundedNoise, OnlineBoundedNoise)
}

_NOT_GIVEN = {"scale", "radius", "monotone", "grain"}
"""What calibration and the data set decide."""

_WHOLE = {"positives", "queries", "horizon"}
_MOST = 10_000
"""Answers that a mechanism may be started for: what it prepares grows with them."""


def mechanism_called(name: str) -> type[Interactive[Any]]:
    """The class of that name."""
    if name not in STARTABLE:
        raise BadInput("no such mechanism can be started", hint=f"start one of {', '.join(STARTABLE)}")
    return STARTABLE[name]


def public_of(kind: type[Interactive[Any]], given: Mapping[str, Any]) -> dict[str, Any]:
    """Its public parameters, each of the type that it has; anything else is refused."""
    known = {field.name for field in fields(kind)} - _NOT_GIVEN  # type: ignore[arg-type]
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            raise BadInput(
                f"{kind.__name__} is not told this when it starts",
                hint=f"it takes {', '.join(sorted(known)) or 'nothing'}",
            )
        found[name] = _number(name, value) if isinstance(value, int | str) and _numeral(value) else value
        if not isinstance(found[name], int | str | Fraction | bool):
            raise BadInput(f"{name} is no number and no word", hint="write numbers as text: '500'")
    return found


def _numeral(value: int | str) -> bool:
    text = str(value)
    return not isinstance(value, bool) and len(text) <= 60 and text.lstrip("-").replace(".", "", 1).isdecimal()


def _number(name: str, value: int | str) -> int | Fraction:
    exact = fraction(value, name=name)
    if name not in _WHOLE:
        return exact
    if exact.denominator != 1 or not 1 <= exact <= _MOST:
        raise BadInput(f"{name} is a whole number from 1 to {_MOST}", hint=f"say for how many at most: {name}=10")
    return int(exact)


def reply_to_json(reply: Any) -> Any:
    """Whether it was above, and by how much; or a count with noise."""
    match reply:
        case Reply(above, gap):
            return {"above": bool(above), "gap": None if gap is None else str(Fraction(gap))}
        case _:
            return {"value": str(Fraction(reply))}


def reply_from_json(body: Mapping[str, Any]) -> Any:
    """What `reply_to_json` wrote."""
    if "above" in body:
        gap = body.get("gap")
        return Reply(bool(body["above"]), None if gap is None else float(Fraction(gap)))
    return float(Fraction(body["value"]))
