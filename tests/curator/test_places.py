"""Every key and value of a TOML text is found where it stands."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sfumato.curator.policy.places import KeyPath, Places

TEXT = (
    '''# a comment = "not a key"
top = 1
"quoted key".'dotted' . plain = """one
[not.a.header]
two = 2"""

[ a . "b.c" ]   # [not.this]
list = [ 1, # one ]
         [2, 3],
         "],", '''
    "'''"
    "]"
    ""
    "'''"
    """,
]
inline = { x = 1, "y z" = [ { deep = true } ], empty = {}, none = [] }
when = 2026-11-30 12:30:00
day = 2026-11-30
[[many]]
name = "first"
[[many]]
name = 'second'
[many.inner]
n = -1.5e-6
"""
)


def leaves(value: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        yield path, value
        for n, item in enumerate(value):
            yield from leaves(item, (*path, n))
    else:
        yield path, value


def all_found(text: str) -> None:
    places = Places.of(text)
    for path, value in leaves(tomllib.loads(text)):
        if path not in places.values:  # a list of tables has no one place
            assert isinstance(value, list)
            assert value
            assert isinstance(value[0], dict)
            continue
        start, end = places.values[path]
        assert tomllib.loads(f"v = {text[start:end]}")["v"] == value


def test_every_value_of_a_text_with_all_there_is() -> None:
    all_found(TEXT)


def test_texts_of_many_lines_may_end_in_their_own_quotes() -> None:
    for quote in ('"', "'"):
        all_found(f"a = [{3 * quote}one{4 * quote}, {3 * quote}two{5 * quote}, {6 * quote}]\nb = 1\n")


def test_windows_line_ends() -> None:
    all_found(TEXT.replace("\n", "\r\n"))
    places = Places.of("a = 1\r\n[b]\r\nc = 2\r\n")
    assert places.value(("b", "c")) == (3, 5)


def test_lines_and_columns() -> None:
    places = Places.of(TEXT)
    lines = TEXT.splitlines()
    line, column = places.value(("a", "b.c", "inline", "y z", 0, "deep"))
    assert lines[line - 1][column - 1 :].startswith("true")
    line, column = places.key(("a", "b.c", "inline", "y z", 0, "deep"))
    assert lines[line - 1][column - 1 :].startswith("deep")
    line, column = places.key(("many", 1, "name"))
    assert lines[line - 1] == "name = 'second'"
    line, column = places.value(("many", 1, "inner", "missing", "deeper"))
    assert lines[line - 1][column - 1 :].startswith("inner]")
    assert places.value(("nowhere",)) == (1, 1)


KEYS = st.one_of(
    st.from_regex(r"[A-Za-z0-9_-]{1,6}", fullmatch=True),
    st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_characters="\x7f"), max_size=5),
)
SCALARS = st.one_of(
    st.integers(-(10**9), 10**9),
    st.booleans(),
    st.dates(),
    st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_characters="\x7f"), max_size=8),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=6,
)


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def written(value: Any, draw: Any) -> str:
    """One of the spellings that TOML has for a value."""
    gap = draw(st.sampled_from(["", " ", "\t"]))
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            literal = "'" not in value and draw(st.booleans())
            return f"'{value}'" if literal else quoted(value)
        case list():
            wide = draw(st.sampled_from([gap, "\n  ", f" # {quoted(']')} , \n"]))
            items = ("," + wide).join(written(item, draw) for item in value)
            return f"[{wide}{items}{wide}]"
        case dict():
            pairs = ", ".join(f"{quoted(key)}{gap}={gap}{written(item, draw)}" for key, item in value.items())
            return f"{{{gap}{pairs}{gap}}}"
        case _:
            return str(value)


@st.composite
def texts(draw: Any) -> str:
    lines: list[str] = []
    for key, value in draw(st.dictionaries(KEYS, VALUES, max_size=4)).items():
        table = isinstance(value, dict) and draw(st.booleans())
        if not table:
            lines.insert(0, f"{quoted(key)} = {written(value, draw)}")
            continue
        lines.append(f"[ {quoted(key)} ] # {quoted('[x]')}")
        lines += [f"{quoted(inner)} = {written(item, draw)}" for inner, item in value.items()]
    return "\n".join(lines) + "\n"


@given(texts())
def test_every_value_of_any_text(text: str) -> None:
    all_found(text)
