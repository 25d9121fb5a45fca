"""A policy's text with one word changed: comments, order and spacing stay."""

from __future__ import annotations

from sfumato.core import BadInput
from sfumato.curator.policy.policy import Policy
from sfumato.curator.policy.propose import quoted


def with_version(policy: Policy, name: str) -> str:
    """The text, with `name` as the version of the rows."""
    if not name.strip() or not name.isprintable():
        raise BadInput("a version is a word", hint="such as 2026-11")
    if name == policy.version:
        raise BadInput(
            f"the rows are version {name} already", hint="say another word when the rows are new, such as 2026-12"
        )
    start, end = policy.places.values["dataset", "version"]
    text = policy.places.text
    return text[:start] + quoted(name) + text[end:]
