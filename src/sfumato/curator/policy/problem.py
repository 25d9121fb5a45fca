"""What is wrong with a policy, and where it stands in the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

from sfumato.core import BadPolicy
from sfumato.curator.policy.places import KeyPath, Places


@final
@dataclass(frozen=True, slots=True)
class Problem:
    """A complaint about one key or value. `path` leads to it; a warning has the same shape."""

    path: KeyPath
    message: str
    hint: str
    code: str | None = None
    about: Literal["key", "value"] = "value"

    def error(self, places: Places) -> BadPolicy:
        line, column = places.key(self.path) if self.about == "key" else places.value(self.path)
        return BadPolicy(self.message, hint=self.hint, code=self.code, line=line, column=column)


def section(path: KeyPath) -> str:
    """A path as a TOML header: [tables.adult.columns.age]."""
    return f"[{'.'.join(map(str, path))}]" if path else "the policy"
