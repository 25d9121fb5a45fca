"""An exact answer cannot leave its box by accident."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sfumato.core import Bug, Private

SECRET = 123456789

ESCAPES: dict[str, Callable[[Any], object]] = {
    "==": lambda box: box == SECRET,
    "!=": lambda box: box != SECRET,
    "<": lambda box: box < SECRET,
    ">=": lambda box: box >= SECRET,
    "bool": bool,
    "if": lambda box: 1 if box else 0,
    "not": lambda box: not box,
    "iter": list,
    "len": len,
    "in": lambda box: SECRET in box,
    "int": int,
    "float": float,
    "complex": complex,
    "index": lambda box: [0][box],
    "hash": hash,
    "set": lambda box: {box},
    "pickle": pickle.dumps,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "array": np.asarray,
    "json": json.dumps,
    "add": lambda box: box + 1,
    "range": range,
}


@pytest.mark.parametrize("escape", ESCAPES.values(), ids=ESCAPES.keys())
def test_every_way_out_is_closed(escape: Callable[[Any], object]) -> None:
    with pytest.raises((Bug, TypeError)) as caught:
        escape(Private(SECRET))
    assert str(SECRET) not in str(caught.value)


@pytest.mark.parametrize("show", [repr, str, format, "{}".format, "{:>30}".format, lambda box: f"{box!r} {box:d}"])
def test_printing_shows_nothing(show: Callable[[Any], str]) -> None:
    assert str(SECRET) not in show(Private(SECRET))
    assert "Private(...)" in show(Private(SECRET))


def test_map_keeps_the_box_closed() -> None:
    doubled = Private(SECRET).map(lambda value: 2 * value)
    assert isinstance(doubled, Private)
    assert repr(doubled) == "Private(...)"
