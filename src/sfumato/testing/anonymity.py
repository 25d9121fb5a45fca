"""What a released table satisfies, counted row by row in fractions: a checker that shares no code with what it checks.

Rows are dictionaries, as `frame.to_dicts()` or `frame.to_pylist()` give them. `covers` reads a released label the way a
person would.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

Row = Mapping[str, Any]


def alike(rows: Sequence[Row], quasi_identifiers: Sequence[str]) -> dict[tuple[Any, ...], list[Row]]:
    """The groups of rows that say the same in every quasi-identifier."""
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in quasi_identifiers)].append(row)
    return dict(groups)


def smallest_group(rows: Sequence[Row], quasi_identifiers: Sequence[str]) -> int:
    """The k of k-anonymity."""
    return min(map(len, alike(rows, quasi_identifiers).values()))


def fewest_values(rows: Sequence[Row], quasi_identifiers: Sequence[str], sensitive: str) -> int:
    """The l of distinct l-diversity."""
    return min(len({row[sensitive] for row in group}) for group in alike(rows, quasi_identifiers).values())


def largest_part(rows: Sequence[Row], quasi_identifiers: Sequence[str], sensitive: str) -> Fraction:
    """The alpha of (alpha, k)-anonymity, over all values."""
    groups = alike(rows, quasi_identifiers).values()
    return max(Fraction(max(Counter(row[sensitive] for row in group).values()), len(group)) for group in groups)


def entropy_reached(rows: Sequence[Row], quasi_identifiers: Sequence[str], sensitive: str, wanted: Fraction) -> bool:
    """Whether every group has entropy at least ln l: n^n >= l^n times the product of c^c, in whole numbers."""
    for group in alike(rows, quasi_identifiers).values():
        product = Fraction(1)
        for count in Counter(row[sensitive] for row in group).values():
            product *= count**count
        if Fraction(len(group)) ** len(group) < wanted ** len(group) * product:
            return False
    return True


def recursive_reached(
    rows: Sequence[Row], quasi_identifiers: Sequence[str], sensitive: str, *, c: Fraction, place: int
) -> bool:
    """Whether r_1 < c (r_l + r_(l+1) + ...) in every group, where l is `place`."""
    for group in alike(rows, quasi_identifiers).values():
        counts = sorted(Counter(row[sensitive] for row in group).values(), reverse=True)
        if not counts[0] < c * sum(counts[place - 1 :]):
            return False
    return True


def farthest_equal(rows: Sequence[Row], quasi_identifiers: Sequence[str], sensitive: str) -> Fraction:
    """The t of t-closeness when all values are equally far apart."""
    whole = _distribution(rows, sensitive)
    worst = Fraction(0)
    for group in alike(rows, quasi_identifiers).values():
        part = _distribution(group, sensitive)
        worst = max(worst, sum((abs(part.get(v, Fraction(0)) - p) for v, p in whole.items()), Fraction(0)) / 2)
    return worst


def farthest_ordered(rows: Sequence[Row], quasi_identifiers: Sequence[str], sensitive: str) -> Fraction:
    """The t of t-closeness when values are as far apart as their ranks."""
    whole = _distribution(rows, sensitive)
    order = sorted(whole, key=lambda value: (value is None, value))
    worst = Fraction(0)
    for group in alike(rows, quasi_identifiers).values():
        part = _distribution(group, sensitive)
        moved, carried = Fraction(0), Fraction(0)
        for value in order:
            carried += part.get(value, Fraction(0)) - whole[value]
            moved += abs(carried)
        worst = max(worst, moved / max(1, len(order) - 1))
    return worst


def farthest_hierarchical(
    rows: Sequence[Row], quasi_identifiers: Sequence[str], sensitive: str, paths: Mapping[Any, Sequence[str]]
) -> Fraction:
    """The t of t-closeness on a tree, by the recursion of Li et al.: a node moves what its children have too much to
    those that have too little, at the cost of its height. `paths` gives each leaf's ancestors, upwards, all of one
    length."""
    whole = _distribution(rows, sensitive)
    depth = len(next(iter(paths.values())))
    worst = Fraction(0)
    for group in alike(rows, quasi_identifiers).values():
        part = _distribution(group, sensitive)
        below = {(leaf,): part.get(leaf, Fraction(0)) - whole.get(leaf, Fraction(0)) for leaf in paths}
        parent = {(leaf,): (1, path[0]) for leaf, path in paths.items()}
        moved = Fraction(0)
        level: dict[Any, Fraction] = dict(below)
        above: dict[Any, Any] = dict(parent)
        for height in range(1, depth + 1):
            children: dict[Any, list[Fraction]] = defaultdict(list)
            for node, extra in level.items():
                children[above[node]].append(extra)
            for extras in children.values():
                much = sum((extra for extra in extras if extra > 0), Fraction(0))
                little = -sum((extra for extra in extras if extra < 0), Fraction(0))
                moved += Fraction(height, depth) * min(much, little)
            level = {node: sum(extras, Fraction(0)) for node, extras in children.items()}
            above = {}
            if height < depth:
                for path in paths.values():
                    above[height, path[height - 1]] = (height + 1, path[height])
        worst = max(worst, moved)
    return worst


def covers(label: str | None, value: Any, *, tree: Mapping[str, Sequence[str]] | None = None) -> bool:
    """Whether a released label is true of a value: "24", "]10, 30]", "[10, 30]", "≤ 10", "> 30", "{a, b}",
    "2020-01..2020-03", "*", "... | NULL", or the name of an ancestor in `tree`."""
    if label == "*":
        return True
    if label is None:
        return value is None
    if label.endswith(" | NULL"):
        return value is None or covers(label.removesuffix(" | NULL"), value, tree=tree)
    if label.startswith("{"):
        members = label[1:-1].split(", ")
        return ("NULL" if value is None else str(value)) in members
    if value is None:
        return False
    if tree is not None and str(value) in tree and label in tree[str(value)]:
        return True
    if label[0] in "][" and ", " in label:
        low, high = label[1:-1].split(", ")
        return float(value) <= float(high) and (float(value) > float(low) or (label[0] == "[" and value == float(low)))
    if label.startswith("≤ "):
        return float(value) <= float(label[2:])
    if label.startswith("> "):
        return float(value) > float(label[2:])
    if ".." in label and hasattr(value, "isoformat"):
        first, last = label.split("..")
        day = str(value.isoformat())
        return first <= day[: len(first)] and day[: len(last)] <= last
    if hasattr(value, "isoformat"):
        quarter = f"{value.year}-Q{(value.month + 2) // 3}"
        return label in (quarter, f"{value.year // 10}0s") or str(value.isoformat()).startswith(label)
    return str(value) == label or (isinstance(value, (int, float)) and str(int(value)) == label and value == int(value))


def _distribution(rows: Sequence[Row], sensitive: str) -> dict[Any, Fraction]:
    counts = Counter(row[sensitive] for row in rows)
    return {value: Fraction(count, len(rows)) for value, count in counts.items()}
