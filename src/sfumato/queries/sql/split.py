"""A text of several questions, cut at the semicolons that end statements, not at those in quotes or comments."""

from __future__ import annotations

from sqlglot import TokenType
from sqlglot.errors import SqlglotError

from sfumato.core import BadInput
from sfumato.queries.sql.text import Asked


def split(text: str) -> list[str]:
    """The statements, each as it was written."""
    from sqlglot import tokenize

    try:
        tokens = tokenize(text, read=Asked)
    except SqlglotError:
        raise BadInput("this file could not be read as SQL", hint="check its quotes and comments") from None
    found, start = [], 0
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            found.append(text[start : token.start])
            start = token.end + 1
    if tokens and tokens[-1].token_type is not TokenType.SEMICOLON:
        found.append(text[start:])
    questions = [each.strip() for each in found if each.strip()]
    if not questions:
        raise BadInput("the file holds no question", hint="write one SELECT after the other, each ended by a semicolon")
    return questions
