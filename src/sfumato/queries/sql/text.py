"""The question as it was written: read by sqlglot, with the place of every word for what has to be refused."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, final

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.parsers.duckdb import DuckDBParser

from sfumato.core import NotSupported
from sfumato.queries.sql.words import NAMED, SUBJECTS, UNION, WORDS, clause

LONGEST = 100_000
STATEMENTS = {"SELECT", "WITH", "("}


def _quantile(parser: Any) -> exp.Expr:
    given = parser._parse_csv(parser._parse_disjunction)
    return exp.Quantile(this=given[0] if given else exp.null(), quantile=exp.Tuple(expressions=given[1:]))


logging.getLogger("sqlglot").addHandler(logging.NullHandler())


class Asked(DuckDB):
    """DuckDB's SQL, but for QUANTILE: DuckDB's takes one number or a list, and what else it is given was dropped."""

    class Parser(DuckDBParser):
        FUNCTION_PARSERS: ClassVar = {**DuckDBParser.FUNCTION_PARSERS, "QUANTILE": _quantile}


@final
@dataclass(frozen=True, slots=True)
class Text:
    """The text of one question."""

    sql: str

    def tree(self) -> exp.Expr:
        """The one SELECT that it is."""
        trees = [tree for tree in self._read() if tree is not None]
        if len(trees) != 1:
            raise self.refuse(None, "one question is asked at a time, and this is not one", hint="write one SELECT")
        tree = trees[0]
        while isinstance(tree, exp.Subquery):
            self.only(tree, "this")
            tree = tree.this
        if not isinstance(tree, exp.Select):
            hint = UNION if isinstance(tree, exp.SetOperation) else "write SELECT ... FROM one table"
            raise self.refuse(tree, "only SELECT is understood", hint=hint)
        return tree

    def _read(self) -> list[exp.Expr | None]:
        if "\x00" in self.sql or not _encodes(self.sql):
            raise self.refuse(None, "the question holds characters that are not text", hint="write it again")
        if len(self.sql) > LONGEST:
            raise self.refuse(None, "the question is too long", hint="ask for less at a time")
        if not self.sql.lstrip(" \t\r\n").upper().startswith(("SELECT", "WITH", "(", "--", "/*")):
            raise self.refuse(None, "only SELECT is understood", hint="write SELECT ... FROM one table")
        try:
            return list(sqlglot.parse(self.sql, read=Asked))
        except ParseError as error:
            where = error.errors[0] if error.errors else {}
            raise self._at(where.get("line"), where.get("col"), str(where.get("highlight") or "")) from None
        except (SqlglotError, RecursionError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError):
            raise self._at(None, None, "") from None

    def _at(self, line: int | None, column: int | None, word: str) -> NotSupported:
        place = f", near line {line}, column {column}: '{_short(word)}'" if line and column else ""
        return NotSupported(
            f"this could not be read as SQL{place}", hint="check the spelling and the brackets", code="SF021"
        )

    def only(self, node: exp.Expr, *handled: str) -> None:
        """Refuses the node if it holds anything else than what is handled: nothing is ever dropped silently."""
        for name, value in node.args.items():
            if name not in handled and value not in (None, False, [], ""):
                first = value[0] if isinstance(value, list) else value
                at = first if isinstance(first, exp.Expr) else node
                if name == "date_part_boundary":
                    raise self.unknown(node, hint="write b - a")
                word, hint = clause(name)
                raise self.refuse(at, f"{word} is not understood here", hint=hint)

    def refuse(self, node: exp.Expr | None, what: str, *, hint: str, code: str = "SF021") -> NotSupported:
        """A refusal that says where."""
        return NotSupported(what + self.place(node), hint=hint, code=code)

    def unknown(self, node: exp.Expr, *, hint: str, among: str = "what is understood here") -> NotSupported:
        """A refusal of a function or a keyword, by the word that it was written with."""
        words, instead = WORDS.get(type(node), ((), None))
        span = self._written(node, words or (node.sql_names() if isinstance(node, exp.Func) else ()))
        word = SUBJECTS.get(type(node))
        if word is None and span is not None:
            word = _short(self.sql[span[0] : span[1] + 1]).upper()
        place = self.place(node) if span is None else self._place(*span)
        word = word or str(node.name if isinstance(node, exp.Anonymous) else node.key).upper()
        instead = instead or NAMED.get(word)
        return NotSupported(f"{word} is not on the list of {among}{place}", hint=instead or hint, code="SF021")

    def _written(self, node: exp.Expr, words: Sequence[str]) -> tuple[int, int] | None:
        """Where the word of a node stands: as the parser knows, or the last such word before what is in it."""
        if isinstance(node, exp.Func) and "start" in node.meta:
            return node.meta["start"], node.meta["end"]
        inside = [each.meta["start"] for each in node.walk() if "start" in each.meta]
        wanted, quoted = {word.upper() for word in words}, {TokenType.STRING, TokenType.IDENTIFIER}
        found = [
            (token.start, token.end)
            for token in Asked().tokenize(self.sql)
            if token.text.upper() in wanted and token.token_type not in quoted
        ]
        before = [span for span in found if not inside or span[0] < min(inside)]
        if not before:
            return None
        return before[-1] if inside else before[0]

    def place(self, node: exp.Expr | None) -> str:
        """' (line 1, column 8: 'word')', for the first word of a node."""
        start, end = _span(node)
        return "" if start is None or end is None else self._place(start, end)

    def _place(self, start: int, end: int) -> str:
        line = self.sql.count("\n", 0, start) + 1
        column = start - (self.sql.rfind("\n", 0, start) + 1) + 1
        return f" (line {line}, column {column}: '{_short(self.sql[start : end + 1])}')"

    @contextmanager
    def placed(self, node: exp.Expr) -> Iterator[None]:
        """Refusals raised inside say where, if they do not yet."""
        try:
            yield
        except NotSupported as error:
            if "(line " in error.message:
                raise
            raise self.refuse(node, error.message, hint=error.hint, code=error.code or "SF021") from None


def flattened(condition: exp.Expr) -> list[exp.Expr]:
    """The parts of a condition that are joined by AND, in their order."""
    found, waiting = [], [condition]
    while waiting:
        each = waiting.pop()
        if isinstance(each, exp.And):
            waiting += [each.expression, each.this]
        elif isinstance(each, exp.Paren) and isinstance(each.this, exp.And | exp.EQ | exp.Paren):
            waiting.append(each.this)
        else:
            found.append(each)
    return found


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _span(node: exp.Expr | None) -> tuple[int | None, int | None]:
    """The first word below a node, or else around it."""
    while node is not None:
        spans = [(each.meta["start"], each.meta["end"]) for each in node.walk() if "start" in each.meta]
        if spans:
            return min(spans)
        node = node.parent
    return None, None


def _short(word: str) -> str:
    flat = " ".join(word.split())
    return flat if len(flat) <= 40 else flat[:37] + "..."
