"""How an analyst wrote what is refused, and what to write instead: the parser has names of its own for both."""

from __future__ import annotations

from sqlglot import exp

_JOIN = "JOIN the other table ON the unit or a declared link, and filter on its columns"
_DAYS = "there are YEAR, QUARTER, MONTH, DAY, WEEK, EXTRACT(MONTH FROM d) and DATE_TRUNC('month', d)"
_TODAY = "write the day itself: DATE '2026-01-31'"
_DIFFERENCE = "write b - a, the number of days from a to b"

WORDS: dict[type[exp.Expr], tuple[tuple[str, ...], str | None]] = {
    exp.Exists: (("EXISTS",), _JOIN),
    exp.Subquery: ((), _JOIN),
    exp.CurrentDate: (("CURRENT_DATE", "TODAY"), _TODAY),
    exp.CurrentTimestamp: (("CURRENT_TIMESTAMP", "NOW"), _TODAY),
    exp.Interval: (("INTERVAL",), "add a number of days: d + 5; months and years are compared with YEAR and MONTH"),
    exp.TimeToStr: ((), _DAYS),
    exp.Hour: ((), _DAYS),
    exp.Minute: ((), _DAYS),
    exp.GroupConcat: (("STRING_AGG", "GROUP_CONCAT", "LISTAGG"), None),
    exp.Rollup: ((), "ask one GROUP BY after the other"),
    exp.Cube: ((), "ask one GROUP BY after the other"),
    exp.DateDiff: ((), _DIFFERENCE),
    exp.Window: ((), "a window stands in a subquery, with PARTITION BY the unit"),
    exp.Rand: ((), "conditions are on what rows hold"),
}
"""For each node the keywords that it may have been written with, where the parser keeps none, and what to do instead."""

NAMED: dict[str, str] = {"NOW": _TODAY, "TODAY": _TODAY, "GETDATE": _TODAY, "DATE_PART": _DAYS, "DATEPART": _DAYS}
"""The same for functions that the parser only knows by name."""

SUBJECTS: dict[type[exp.Expr], str] = {exp.Subquery: "a subquery", exp.Window: "a window"}
"""What has no word of its own."""

CLAUSES: dict[str, tuple[str, str]] = {
    "distinct": ("DISTINCT", "write GROUP BY instead; inside COUNT it is COUNT(DISTINCT x)"),
    "query": ("a subquery", _JOIN),
    "sample": ("TABLESAMPLE", "ask of all rows: sampling here would be no protection"),
    "qualify": ("QUALIFY", "name the window in a subquery, and write WHERE outside of it"),
    "limit": ("LIMIT", "limit the answer: LIMIT stands at the end of the question"),
    "order": ("ORDER BY", "order the answer: ORDER BY stands at the end of the question"),
    "grouping_sets": ("GROUPING SETS", "ask one GROUP BY after the other"),
    "windows": ("WINDOW", "write the window where it is used: OVER (PARTITION BY ...)"),
}
"""For each argument that only sometimes is understood: how it is written, and what to do instead."""

UNION = "ask each SELECT by itself; rows of several tables are not put together yet, and counts of them can be added afterwards"


def clause(name: str) -> tuple[str, str]:
    """An argument as it is written, and what to do instead."""
    return CLAUSES.get(name, (name.rstrip("_").replace("_", " ").upper(), "leave it out"))
