"""The sealed box that exact answers travel in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NoReturn, TypeVar, final

from sfumato.core.errors import Bug

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")
U = TypeVar("U")

_HINT = "release it through a mechanism; transform it with .map(f)"


@final
class Private(Generic[T_co]):
    """An exact answer that cannot be printed, compared, counted, hashed, pickled or branched on by accident.

    `map` transforms what is inside. Only `unseal` opens the box, and a test holds the list of the two files that may
    call it. This guards against honest mistakes, not against an adversary inside the process.
    """

    __slots__ = ("_value",)

    def __init__(self, value: T_co) -> None:
        self._value = value

    def map(self, f: Callable[[T_co], U]) -> Private[U]:
        """The box around `f(value)`."""
        return Private(f(self._value))

    def __repr__(self) -> str:
        return "Private(...)"

    def __format__(self, spec: str) -> str:
        return repr(self)

    def _refuse(self, *_: object) -> NoReturn:
        raise Bug("an exact answer was about to leave its box", hint=_HINT)

    __eq__ = _refuse
    __ne__ = _refuse
    __lt__ = _refuse
    __le__ = _refuse
    __gt__ = _refuse
    __ge__ = _refuse
    __bool__ = _refuse
    __iter__ = _refuse
    __len__ = _refuse
    __contains__ = _refuse
    __int__ = _refuse
    __index__ = _refuse
    __float__ = _refuse
    __complex__ = _refuse
    __hash__ = _refuse
    __reduce__ = _refuse
    __reduce_ex__ = _refuse
    __getstate__ = _refuse
    __copy__ = _refuse
    __deepcopy__ = _refuse
    __array__ = _refuse


def unseal(private: Private[T]) -> T:
    """What is inside. Callers are listed in tests/test_house_rules.py; the list does not grow."""
    return private._value
