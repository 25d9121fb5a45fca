"""Questions that gather each unit's rows, or look at other rows of the same unit, over the tables of `several`."""

from __future__ import annotations

from typing import Any

from sfumato.testing.several import Chooser

FOLDS = (
    "COUNT(*)",
    "COUNT(days)",
    "COUNT(DISTINCT ward)",
    "SUM(days)",
    "AVG(days)",
    "MIN(days)",
    "MAX(admitted) - MIN(admitted)",
    "FIRST(days ORDER BY admitted)",
    "LAST(days ORDER BY admitted DESC, days)",
    "FIRST(ward ORDER BY days NULLS FIRST)",
    "COUNT(*) FILTER (WHERE days > 2)",
    "SUM(days) FILTER (WHERE ward = 'a')",
    "MAX(CASE WHEN ward = 'b' THEN 1 ELSE 0 END)",
)
TEXTS = frozenset({"FIRST(ward ORDER BY days NULLS FIRST)"})
WINDOWS = (
    "LAG(days) OVER (PARTITION BY person ORDER BY admitted)",
    "LEAD(days, 2) OVER (PARTITION BY person ORDER BY days DESC)",
    "admitted - LAG(admitted) OVER (PARTITION BY person ORDER BY admitted NULLS FIRST)",
    "ROW_NUMBER() OVER (PARTITION BY person ORDER BY days)",
    "ROW_NUMBER() OVER (PARTITION BY ward, person ORDER BY admitted)",
    "SUM(days) OVER (PARTITION BY person ORDER BY admitted)",
    "SUM(days) OVER (PARTITION BY person ORDER BY days ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
    "COUNT(*) OVER (PARTITION BY person)",
    "COUNT(days) OVER (PARTITION BY person, ward ORDER BY admitted)",
    "MAX(days) OVER (PARTITION BY person ORDER BY admitted DESC)",
    "FIRST_VALUE(days) OVER (PARTITION BY person ORDER BY admitted)",
)
TOTALS = ("SUM(price)", "SUM(price) FILTER (WHERE kind = 'x')", "COALESCE(SUM(price), 0)")
WHOLE = ("{} > 30", "{} BETWEEN 20 AND 120", "{} IN (30, 60, 90)", "NOT {} = 40", "{} < SUM(price)", "{} IS NULL")
"""Totals have no range, and are compared on a grid of tens with what lies on it."""
FROMS = ("stays", "stays", "(SELECT * FROM stays WHERE days > 1) AS q")


def question(choose: Chooser) -> str:
    """SQL text."""

    def of(choices: Any) -> Any:
        return choices[choose.below(len(choices))]

    clause = of(FROMS)
    match choose.below(5):
        case 0:
            fold, more = of(FOLDS), of(("", "", ", ward"))
            below = f"SELECT person{more}, {fold} AS x, COUNT(*) AS n FROM {clause} GROUP BY person{more}"
            below += of(("", " HAVING COUNT(*) > 1"))
            text = fold in TEXTS
        case 1:
            other = of(("days", f"LEAST(GREATEST({of(WINDOWS)}, 0), 9)"))
            below, text = f"SELECT person, ward, {of(WINDOWS)} AS x, {other} AS n FROM {clause}", False
        case 2:
            inner = f"SELECT person, ward, {of(WINDOWS)} AS days, admitted FROM {clause}"
            fold = of([each for each in FOLDS if "SUM" not in each and "AVG" not in each])
            below, text = (
                f"SELECT person, {fold} AS x, COUNT(*) AS n FROM ({inner}) AS w GROUP BY person",
                fold in TEXTS,
            )
        case 3:
            total, having = of(TOTALS), of(WHOLE).format(of(TOTALS))
            below, text = (
                f"SELECT person, GREATEST(0, LEAST(50, {total})) AS x, COUNT(*) AS n FROM acts GROUP BY person HAVING {having}",
                False,
            )
        case _:
            fold = of(FOLDS)
            gathered = f"SELECT person, {fold} AS x, COUNT(*) AS n FROM {clause} GROUP BY person"
            how = of(("JOIN", "LEFT JOIN"))
            below = f"SELECT a.person, a.cost, g.x AS x, g.n AS n FROM acts AS a {how} ({gathered}) AS g USING (person)"
            text = fold in TEXTS
    if text:
        return f"SELECT x, COUNT(*) FROM ({below}) AS b GROUP BY x"
    measure = of(
        (
            "COUNT(*)",
            "COUNT(x)",
            "COUNT(DISTINCT x)",
            "SUM(n)",
            "SUM(LEAST(GREATEST(x, 0), 7))",
            "AVG(LEAST(GREATEST(n, 0), 3))",
            "COUNT(DISTINCT person)",
        )
    )
    where = of(("", " WHERE x >= 1", " WHERE n > 1", " WHERE x = 1", " WHERE NOT x > 2"))
    if "DISTINCT" in measure and "person" not in below.split(" FROM ")[0]:
        measure = "COUNT(*)"
    return f"SELECT {measure} FROM ({below}) AS b{where}"
