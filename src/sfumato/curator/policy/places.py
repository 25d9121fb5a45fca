"""Where every key and value of a TOML text stands, so that a complaint can point at it.

The text is known to be TOML already (`tomllib` has read it); this only follows its tokens.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from dataclasses import dataclass
from typing import final

KeyPath = tuple[str | int, ...]
Span = tuple[int, int]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_TEXT = re.compile(
    r'"""(?:\\[\s\S]|[^\\])*?"""(?:"{0,2})'
    r"|'''[\s\S]*?'''(?:'{0,2})"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
)
_ATOM = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d[^\s,\]}#]*|[^\s,\]}#]+")


@final
@dataclass(frozen=True, slots=True)
class Places:
    """Offsets of keys and spans of values, by their path; `("tables", "adult", "unit")`, list items by their index."""

    text: str
    keys: dict[KeyPath, int]
    values: dict[KeyPath, Span]

    @classmethod
    def of(cls, text: str) -> Places:
        walk = _Walk(text)
        walk.document()
        return cls(text, walk.keys, walk.values)

    def value(self, path: KeyPath) -> tuple[int, int]:
        """Line and column of a value; of the nearest thing around it when it is not there."""
        while path:
            if path in self.values:
                return self._line_and_column(self.values[path][0])
            if path in self.keys:
                return self._line_and_column(self.keys[path])
            path = path[:-1]
        return 1, 1

    def key(self, path: KeyPath) -> tuple[int, int]:
        """Line and column of a key; of the nearest thing around it when it is not there."""
        return self._line_and_column(self.keys[path]) if path in self.keys else self.value(path)

    def _line_and_column(self, offset: int) -> tuple[int, int]:
        starts = [0, *(match.end() for match in re.finditer("\n", self.text))]
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1


@final
class _Walk:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 1 if text.startswith("\ufeff") else 0
        self.keys: dict[KeyPath, int] = {}
        self.values: dict[KeyPath, Span] = {}
        self._lists: dict[KeyPath, int] = {}

    def document(self) -> None:
        inside: KeyPath = ()
        while self._blank() < len(self.text):
            if self.text.startswith("[[", self.at):
                inside = self._header("[[", "]]")
                self._lists[inside] = self._lists.get(inside, -1) + 1
                inside = (*inside, self._lists[inside])
            elif self.text[self.at] == "[":
                inside = self._header("[", "]")
            else:
                self._pair(inside)

    def _header(self, opening: str, closing: str) -> KeyPath:
        self.at += len(opening)
        path: KeyPath = ()
        for name, start in self._dotted():
            path = (*path, self._lists[path]) if path in self._lists else path
            path = (*path, name)
            self.keys.setdefault(path, start)
        self.at += len(closing)
        return path

    def _pair(self, inside: KeyPath) -> None:
        path = inside
        for name, start in self._dotted():
            path = (*path, name)
            self.keys.setdefault(path, start)
        self.at += 1
        self._space()
        self._value(path)

    def _dotted(self) -> list[tuple[str, int]]:
        names = []
        while True:
            start = self._space()
            names.append((self._name(), start))
            self._space()
            if self.text[self.at] != ".":
                return names
            self.at += 1

    def _name(self) -> str:
        if bare := _BARE_KEY.match(self.text, self.at):
            self.at = bare.end()
            return bare.group()
        quoted = self._match(_TEXT)
        name: str = tomllib.loads(f"key = {quoted}")["key"]
        return name

    def _value(self, path: KeyPath) -> None:
        start = self.at
        match self.text[start]:
            case "[":
                self._items(path)
            case "{":
                self._pairs(path)
            case '"' | "'":
                self._match(_TEXT)
            case _:
                self._match(_ATOM)
        self.values[path] = (start, self.at)

    def _items(self, path: KeyPath) -> None:
        self.at += 1
        n = 0
        while self.text[self._blank()] != "]":
            self._value((*path, n))
            n += 1
            if self.text[self._blank()] == ",":
                self.at += 1
        self.at += 1

    def _pairs(self, path: KeyPath) -> None:
        self.at += 1
        while self.text[self._blank()] != "}":
            self._pair(path)
            if self.text[self._blank()] == ",":
                self.at += 1
        self.at += 1

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        assert found is not None, "tomllib has read this text, so a token stands here"
        self.at = found.end()
        return found.group()

    def _blank(self) -> int:
        found = _BLANK.match(self.text, self.at)
        assert found is not None
        self.at = found.end()
        return self.at

    def _space(self) -> int:
        found = _SPACE.match(self.text, self.at)
        assert found is not None
        self.at = found.end()
        return self.at
