"""The models: what every group of people who look alike must satisfy. All of them survive the union of two groups that
do.

Groups are judged in whole numbers, or in floats with every near tie settled exactly, so a promise never rests on
rounding. A missing sensitive value counts as one value more. None of these models is differential privacy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal, Protocol, assert_never, final

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymise.groups import Groups, Spread
from sfumato.core.errors import BadInput

Number = int | str | float | Decimal | Fraction
Distance = Literal["auto", "equal", "ordered", "hierarchical"]
NEAR = 1e-9
"""Relative closeness at which floats are not trusted and the exact numbers are compared."""


class Model(Protocol):
    """What a group must satisfy."""

    @property
    def least(self) -> int:
        """No smaller group can satisfy it."""

    def failing(self, groups: Groups) -> NDArray[np.bool_]:
        """Which groups do not satisfy it. A group without people satisfies everything."""

    def attained(self, groups: Groups) -> float:
        """The strictest parameter that all groups satisfy."""

    def __str__(self) -> str: ...


def _spreads(groups: Groups, column: str | None) -> Iterator[Spread]:
    """The sensitive columns that a model speaks about: the one it names, or all."""
    if column is None:
        yield from groups.spreads.values()
    else:
        yield groups.spreads[column]


@final
@dataclass(frozen=True, slots=True)
class KAnonymity:
    """Every group has at least k people (Sweeney 2002)."""

    k: int

    def __post_init__(self) -> None:
        _whole("k", self.k)

    @property
    def least(self) -> int:
        return self.k

    def failing(self, groups: Groups) -> NDArray[np.bool_]:
        return (groups.sizes > 0) & (groups.sizes < self.k)

    def attained(self, groups: Groups) -> float:
        sizes = groups.sizes[groups.sizes > 0]
        return float(sizes.min()) if len(sizes) else float("inf")

    def __str__(self) -> str:
        return f"k-anonymity, k = {self.k}"


@final
@dataclass(frozen=True, slots=True)
class KMap:
    """Every group that is released matches at least k people of the population table (Sweeney 2002)."""

    k: int

    def __post_init__(self) -> None:
        _whole("k", self.k)

    @property
    def least(self) -> int:
        return 1

    def failing(self, groups: Groups) -> NDArray[np.bool_]:
        assert groups.population is not None
        return (groups.sizes > 0) & (groups.population < self.k)

    def attained(self, groups: Groups) -> float:
        assert groups.population is not None
        sizes = groups.population[groups.sizes > 0]
        return float(sizes.min()) if len(sizes) else float("inf")

    def __str__(self) -> str:
        return f"k-map, k = {self.k}"


@final
@dataclass(frozen=True, slots=True)
class DistinctDiversity:
    """Every group has at least l different sensitive values (Machanavajjhala et al. 2007)."""

    l: int  # noqa: E741
    column: str | None = None

    def __post_init__(self) -> None:
        _whole("l", self.l)

    @property
    def least(self) -> int:
        return self.l

    def failing(self, groups: Groups) -> NDArray[np.bool_]:
        bad = np.zeros(len(groups), np.bool_)
        for spread in _spreads(groups, self.column):
            bad |= np.diff(spread.starts(len(groups))) < self.l
        return bad & (groups.sizes > 0)

    def attained(self, groups: Groups) -> float:
        kinds = [np.diff(spread.starts(len(groups)))[groups.sizes > 0] for spread in _spreads(groups, self.column)]
        return float(min((kind.min() for kind in kinds if len(kind)), default=np.inf))

    def __str__(self) -> str:
        return _named(f"distinct l-diversity, l = {self.l}", self.column)


@final
@dataclass(frozen=True, slots=True)
class EntropyDiversity:
    """The entropy of the sensitive values of every group is at least ln l (Machanavajjhala et al. 2007)."""

    l: Number  # noqa: E741
    column: str | None = None

    def __post_init__(self) -> None:
        if _exact(self.l) < 1:
            raise BadInput(f"entropy l-diversity asks for l at least 1, not {self.l}", hint="take l = 2 or more")

    @property
    def least(self) -> int:
        return int(-(-_exact(self.l) // 1))

    def failing(self, groups: Groups) -> NDArray[np.bool_]:
        wanted = _exact(self.l)
        bad = np.zeros(len(groups), np.bool_)
        for spread in _spreads(groups, self.column):
            entropy = self._entropy(spread, groups.sizes)
            floor = float(np.log(float(wanted)))
            short = entropy < floor
            for group in np.flatnonzero(np.abs(entropy - floor) <= NEAR * (1 + floor)).tolist():
                short[group] = not self.holds(list(spread.of(group).values()), wanted)
            bad |= short
        return bad & (groups.sizes > 0)

    @staticmethod
    def _entropy(spread: Spread, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        part = np.bincount(spread.group, weights=spread.count * np.log(spread.count), minlength=len(sizes))
        people = np.maximum(sizes, 1)
        return np.asarray(np.log(people) - part / people, np.float64)

    @staticmethod
    def holds(counts: Sequence[int], wanted: Fraction) -> bool:
        """H >= ln l in integers: with n people, l^n times the product of c^c is at most n^n."""
        people = sum(counts)
        product = 1
        for count in counts:
            product *= count**count
        return bool(wanted.numerator**people * product <= people**people * wanted.denominator**people)

    def attained(self, groups: Groups) -> float:
        least = [
            np.exp(self._entropy(spread, groups.sizes))[groups.sizes > 0] for spread in _spreads(groups, self.column)
        ]
        return float(min((each.min() for each in least if len(each)), default=np.inf))

    def __str__(self) -> str:
        return _named(f"entropy l-diversity, l = {self.l}", self.column)


@final
@dataclass(frozen=True, slots=True)
class RecursiveDiversity:
    """With counts r_1 >= r_2 >= ... in every group, r_1 < c (r_l + r_(l+1) + ...) (Machanavajjhala et al. 2007)."""

    c: Number
    l: int  # noqa: E741
    column: str | None = None

    def __post_init__(self) -> None:
        _whole("l", self.l)
        if _exact(self.c) <= 0:
            raise BadInput(f"recursive diversity asks for c above 0, not {self.c}", hint="take c = 3, say")

    @property
    def least(self) -> int:
        return self.l

    def failing(self, groups: Groups) -> NDArray[np.bool_]:
        c = _exact(self.c)
        bad = np.zeros(len(groups), np.bool_)
        for spread in _spreads(groups, self.column):
            most, tail = self._most_and_tail(spread, len(groups))
            bad |= most * c.denominator >= tail * c.numerator
        return bad & (groups.sizes > 0)

    def _most_and_tail(self, spread: Spread, groups: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        order = np.lexsort((-spread.count, spread.group))
        count, starts = spread.count[order], spread.starts(groups)
        rank = np.arange(len(count)) - starts[spread.group]
        most, tail = np.zeros(groups, np.int64), np.zeros(groups, np.int64)
        most[spread.group[rank == 0]] = count[rank == 0]
        late = rank >= self.l - 1
        np.add.at(tail, spread.group[late], count[late])
        return most, tail

    def attained(self, groups: Groups) -> float:
        """The smallest ratio that every group stays below or at: c must be larger."""
        worst = 0.0
        for spread in _spreads(groups, self.column):
            most, tail = self._most_and_tail(spread, len(groups))
            here = groups.sizes > 0
            if (tail[here] == 0).any():
                return float("inf")
            worst = max(worst, float((most[here] / tail[here]).max(initial=0.0)))
        return worst

    def __str__(self) -> str:
        return _named(f"recursive (c, l)-diversity, c = {self.c}, l = {self.l}", self.column)


@final
@dataclass(frozen=True, slots=True)
class AlphaK:
    """Groups of at least k people, and no sensitive value is shared by more than a part alpha of a group (Wong et al.
    2006)."""

    alpha: Number
    k: int
    values: tuple[str, ...] = ()
    """The values that need protection; all of them when none is named."""
    column: str | None = None

    def __post_init__(self) -> None:
        _whole("k", self.k)
        if not 0 < _exact(self.alpha) <= 1:
            raise BadInput(f"alpha is a part between 0 and 1, not {self.alpha}", hint='write alpha="0.5" for one half')

    @property
    def least(self) -> int:
        return self.k

    def failing(self, groups: Groups) -> NDArray[np.bool_]:
        alpha = _exact(self.alpha)
        bad = groups.sizes < self.k
        for spread in _spreads(groups, self.column):
            most = self._most(spread, len(groups))
            bad |= most * alpha.denominator > groups.sizes * alpha.numerator
        return bad & (groups.sizes > 0)

    def _most(self, spread: Spread, groups: int) -> NDArray[np.int64]:
        count = spread.count
        if self.values:
            names = (*spread.column.names, "NULL")
            named = np.asarray([name in self.values for name in names[: spread.column.size]])
            count = np.where(named[spread.value], count, 0)
        most = np.zeros(groups, np.int64)
        np.maximum.at(most, spread.group, count)
        return most

    def attained(self, groups: Groups) -> float:
        parts = [
            self._most(spread, len(groups))[groups.sizes > 0] / groups.sizes[groups.sizes > 0]
            for spread in _spreads(groups, self.column)
        ]
        return float(max((part.max() for part in parts if len(part)), default=0.0))

    def __str__(self) -> str:
        return _named(f"(alpha, k)-anonymity, alpha = {self.alpha}, k = {self.k}", self.column)


@final
@dataclass(frozen=True, slots=True)
class TCloseness:
    """The sensitive values of every group are distributed within t of the whole table, by earth mover's distance (Li et
    al. 2007).

    Moving one person's value costs 1 ("equal"), the difference of ranks over their number less one ("ordered"), or the
    height of the lowest common ancestor over the depth ("hierarchical"). "auto" is hierarchical with a hierarchy,
    ordered for numbers and dates, equal for the rest.
    """

    t: Number
    distance: Distance = "auto"
    column: str | None = None

    def __post_init__(self) -> None:
        if not 0 <= _exact(self.t) <= 1:
            raise BadInput(f"t is a distance between 0 and 1, not {self.t}", hint='write t="0.2", say')

    @property
    def least(self) -> int:
        return 1

    def failing(self, groups: Groups) -> NDArray[np.bool_]:
        wanted = _exact(self.t)
        bad = np.zeros(len(groups), np.bool_)
        for spread in _spreads(groups, self.column):
            moved, scale = self.moved(spread, groups.sizes)
            distance = moved / np.maximum(scale, 1)
            far = distance > float(wanted)
            for group in np.flatnonzero(np.abs(distance - float(wanted)) <= NEAR).tolist():
                far[group] = int(moved[group]) * wanted.denominator > int(scale[group]) * wanted.numerator
            bad |= far
        return bad & (groups.sizes > 0)

    def moved(self, spread: Spread, sizes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The distance of each group as a fraction of two integers.

        Half the sum of |p - q| is the sum of p - q where positive, and p is 0 outside of the group: its own values
        suffice. On a tree whose edges weigh 1/(2 depth) the earth mover's distance is the sum over edges of |p - q|
        below, times the weight.
        """
        people = int(spread.overall.sum())
        match self._distance(spread):
            case "equal":
                return _excess(spread.group, spread.count, spread.overall[spread.value], sizes, people), sizes * people
            case "ordered":
                return self._ordered(spread, sizes, people)
            case "hierarchical":
                tree = spread.tree
                assert tree is not None
                moved = np.zeros(len(sizes), np.int64)
                for level in range(tree.depth):
                    node = tree.node_of[level]
                    whole = np.bincount(node, weights=spread.overall, minlength=len(tree.labels[level])).astype(
                        np.int64
                    )
                    key = spread.group * len(whole) + node[spread.value]
                    pair, place = np.unique(key, return_inverse=True)
                    count = np.bincount(place, weights=spread.count, minlength=len(pair)).astype(np.int64)
                    moved += _excess(pair // len(whole), count, whole[pair % len(whole)], sizes, people)
                return moved, sizes * people * tree.depth

    def _distance(self, spread: Spread) -> Literal["equal", "ordered", "hierarchical"]:
        match self.distance:
            case "auto":
                if spread.tree is not None:
                    return "hierarchical"
                return "ordered" if spread.column.ordered else "equal"
            case "hierarchical" if spread.tree is None:
                raise BadInput(
                    f"the sensitive column {spread.column.name} has no hierarchy to measure distances on",
                    hint="give it one in hierarchies=, or take another distance",
                )
            case "equal" | "ordered" | "hierarchical":
                return self.distance
            case _:
                assert_never(self.distance)

    @staticmethod
    def _ordered(spread: Spread, sizes: NDArray[np.int64], people: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Sum over the values of |P - Q|, both cumulative. P is constant between two values of a group while Q climbs,
        so each such run is two sums of Q, one on each side of where they cross: prefix sums of Q are all that is
        needed."""
        # Ranks are among the values that the table compared with has: suppression may have taken some away.
        here = spread.overall > 0
        value, values = (np.cumsum(here) - 1)[spread.value], int(here.sum())
        climbed = np.cumsum(spread.overall[here])
        below = np.concatenate([[0], np.cumsum(climbed)])
        starts = spread.starts(len(sizes))
        total = np.cumsum(spread.count)
        before = np.concatenate([[0], total])[starts[spread.group]]
        last = np.append(spread.group[1:] != spread.group[:-1], True)
        end = np.where(last, values, np.append(value[1:], 0))
        opening = np.flatnonzero(np.diff(starts))
        group = np.concatenate([spread.group, opening])
        first = np.concatenate([value, np.zeros(len(opening), np.int64)])
        end = np.concatenate([end, value[starts[opening]]])
        reached = np.concatenate([total - before, np.zeros(len(opening), np.int64)])
        n = sizes[group]
        cross = np.clip(np.searchsorted(climbed, reached * people // np.maximum(n, 1), side="right"), first, end)
        above = reached * people * (cross - first) - n * (below[cross] - below[first])
        under = n * (below[end] - below[cross]) - reached * people * (end - cross)
        moved = np.zeros(len(sizes), np.int64)
        np.add.at(moved, group, above + under)
        return moved, sizes * people * max(1, values - 1)

    def attained(self, groups: Groups) -> float:
        worst = 0.0
        for spread in _spreads(groups, self.column):
            moved, scale = self.moved(spread, groups.sizes)
            worst = max(worst, float((moved / np.maximum(scale, 1)).max(initial=0.0)))
        return worst

    def __str__(self) -> str:
        return _named(f"t-closeness ({self.distance}), t = {self.t}", self.column)


def failing(models: Sequence[Model], groups: Groups) -> NDArray[np.bool_]:
    """Which groups break at least one of the models."""
    bad = np.zeros(len(groups), np.bool_)
    for model in models:
        bad |= model.failing(groups)
    return bad


def _excess(
    group: NDArray[np.int64],
    count: NDArray[np.int64],
    whole: NDArray[np.int64],
    sizes: NDArray[np.int64],
    people: int,
) -> NDArray[np.int64]:
    """For each group of n people among N, the sum of count * N - whole * n where positive: n N times half the sum of |p
    - q|."""
    moved = np.zeros(len(sizes), np.int64)
    np.add.at(moved, group, np.maximum(count * people - whole * sizes[group], 0))
    return moved


def _exact(number: Number) -> Fraction:
    """What was typed: 0.2 is one fifth, not the float nearest to it."""
    try:
        return Fraction(str(number))
    except ValueError:
        raise BadInput(f"{number!r} is not a number", hint='write it as 3, "0.2" or "1/5"') from None


def _whole(name: str, number: int) -> None:
    if isinstance(number, bool) or number != int(number) or number < 1:
        raise BadInput(
            f"{name} is a whole number of people or values, at least 1, not {number!r}", hint=f"take {name}=5, say"
        )


def _named(text: str, column: str | None) -> str:
    return text if column is None else f"{text}, on {column}"
