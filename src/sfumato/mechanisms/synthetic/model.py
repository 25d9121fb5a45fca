"""A graphical model of rows: one table over each clique of a junction tree, all in agreement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from string import ascii_letters
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.mechanisms.synthetic.junction import Columns, Junction

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class Model:
    """Shares of rows: `beliefs[i]` is the table over the i-th clique, each sums to one, and shared columns agree."""

    tree: Junction
    beliefs: tuple[Floats, ...]

    @classmethod
    def of(cls, tree: Junction, factors: Sequence[tuple[Columns, Floats]]) -> Model:
        """The normalised product of the factors, each within one clique."""
        return Messages(tree, tuple(columns for columns, _ in factors)).pass_on([factor for _, factor in factors])

    def marginal(self, columns: Columns) -> Floats:
        """The table over these columns, in the order given."""
        home = self.tree.home(columns)
        if home is not None:
            return ordered(self.beliefs[home], self.tree.cliques[home], columns)
        if len(columns) != 2:
            raise BadInput("these columns were not modelled together", hint="ask for one or two columns, or count rows")
        return self._carried(columns[0])[columns[1]]

    def pairs(self) -> dict[Columns, Floats]:
        """The table of every two columns."""
        d = len(self.tree.shape)
        return {(i, j): found for i in range(d) for j, found in self._carried(i).items() if i < j}

    def _carried(self, column: int) -> dict[int, Floats]:
        """The table of this column with each other one: carried along the tree from a clique that has it.

        Given a separator, what lies on its two sides is independent: P(x, y) is the sum over s of P(x, s) P(y | s).
        """
        start = self.tree.home([column])
        assert start is not None
        found: dict[int, Floats] = {}
        waiting: list[tuple[int, int, Columns, Floats | None]] = [(start, -1, (), None)]
        while waiting:
            place, before, entry, table = waiting.pop()
            clique = self.tree.cliques[place]
            new = [i for i in clique if i != column and i not in found]
            onward = [(other, shared) for other, shared in self._beside[place] if other != before]
            for target, other in [((i,), -1) for i in new] + [(shared, other) for other, shared in onward]:
                if table is None or column in clique:
                    wanted = (column, *(i for i in target if i != column))
                    flat = ordered(self.beliefs[place], clique, wanted)
                    flat = flat.reshape(flat.shape[0], -1)
                    kept = wanted[1:]
                else:
                    kept = target
                    flat = self._step(place, entry, target, table)
                if other < 0:
                    found[target[0]] = flat
                else:
                    waiting.append((other, place, kept, flat))
        return found

    def _step(self, place: int, entry: Columns, target: Columns, table: Floats) -> Floats:
        """P(x, target) from P(x, entry), both tables flat beyond x."""
        key = (place, entry, target)
        if key not in self._steps:
            outer = tuple(i for i in target if i not in entry)
            joint = ordered(self.beliefs[place], self.tree.cliques[place], entry + outer)
            joint = joint.reshape(self.tree.size(entry), -1)
            mass = joint.sum(axis=1, keepdims=True)
            self._steps[key] = np.divide(joint, mass, out=np.zeros_like(joint), where=mass > 0)
        given, inner = self._steps[key], [i for i in target if i in entry]
        if not inner:
            return table @ given
        # Columns of the target that were known on entry stay: the sum is over the others only.
        outer, shape = tuple(i for i in target if i not in entry), self.tree.shape
        left = table.reshape(-1, *(shape[i] for i in entry))
        right = given.reshape(*(shape[i] for i in entry), *(shape[i] for i in outer))
        letter = dict(zip(entry + outer, ascii_letters[1:], strict=False))
        before, given_by, after = ("".join(letter[i] for i in columns) for columns in (entry, entry + outer, target))
        carried: Floats = np.einsum(f"a{before},{given_by}->a{after}", left, right)
        return carried.reshape(len(left), -1)

    @cached_property
    def _steps(self) -> dict[Any, Floats]:
        return {}

    @cached_property
    def _beside(self) -> list[list[tuple[int, Columns]]]:
        """Each clique's neighbours in the tree, with what they share."""
        beside: list[list[tuple[int, Columns]]] = [[] for _ in self.tree.cliques]
        for place, (parent, shared) in enumerate(zip(self.tree.parents, self.tree.separators, strict=True)):
            if parent >= 0:
                beside[place].append((parent, shared))
                beside[parent].append((place, shared))
        return beside


def ordered(table: Floats, held: Columns, wanted: Columns) -> Floats:
    """A table over `held`, summed and turned into one over `wanted`."""
    kept = tuple(i for i in held if i in wanted)
    summed = table.sum(axis=tuple(n for n, i in enumerate(held) if i not in wanted)) if len(kept) < len(held) else table
    return summed if kept == wanted else summed.transpose([kept.index(i) for i in wanted])


@final
class Messages:
    """Message passing for factors over fixed sets: what can be known before the numbers is worked out once.

    Up from the leaves and down again, dividing by what came up (Jensen, Lauritzen and Olesen 1990).
    """

    def __init__(self, tree: Junction, sets: Sequence[Columns]) -> None:
        self.tree, self.sets = tree, tuple(sets)
        self._homes: list[int] = []
        self._wide: list[tuple[int, ...]] = []
        self._away: list[tuple[int, ...]] = []
        for columns in self.sets:
            home = tree.home(columns)
            assert home is not None, "every factor lies within one clique"
            assert columns == tuple(sorted(columns)), "factors list their columns in order"
            clique = tree.cliques[home]
            self._homes.append(home)
            self._wide.append(tuple(tree.shape[i] if i in columns else 1 for i in clique))
            self._away.append(tuple(n for n, i in enumerate(clique) if i not in columns))
        self._full = [tuple(tree.shape[i] for i in clique) for clique in tree.cliques]
        self._up, self._in_child, self._in_parent, self._down = [], [], [], []
        for clique, parent, shared in zip(tree.cliques, tree.parents, tree.separators, strict=True):
            above = tree.cliques[parent] if parent >= 0 else ()
            self._up.append(tuple(n for n, i in enumerate(clique) if i not in shared))
            self._down.append(tuple(n for n, i in enumerate(above) if i not in shared))
            self._in_child.append(tuple(tree.shape[i] if i in shared else 1 for i in clique))
            self._in_parent.append(tuple(tree.shape[i] if i in shared else 1 for i in above))

    def pass_on(self, factors: Sequence[Floats]) -> Model:
        """The normalised product of positive factors; not numbers, should all of it vanish."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._passed(factors)

    def _passed(self, factors: Sequence[Floats]) -> Model:
        tables = [np.ones(shape) for shape in self._full]
        for home, wide, factor in zip(self._homes, self._wide, factors, strict=True):
            tables[home] *= factor.reshape(wide)
        rising: list[Floats] = [np.ones(())] * len(tables)
        for place in range(len(tables) - 1, 0, -1):
            message = tables[place].sum(axis=self._up[place])
            rising[place] = message = message / message.max()
            tables[self.tree.parents[place]] *= message.reshape(self._in_parent[place])
        tables[0] /= tables[0].sum()
        for place in range(1, len(tables)):
            shared = tables[self.tree.parents[place]].sum(axis=self._down[place])
            own = tables[place].sum(axis=self._up[place])
            tables[place] *= np.divide(shared, own, out=np.zeros_like(shared), where=own > 0).reshape(
                self._in_child[place]
            )
        return Model(self.tree, tuple(tables))

    def read(self, model: Model) -> list[Floats]:
        """The model's tables over the sets."""
        return [model.beliefs[home].sum(axis=away) for home, away in zip(self._homes, self._away, strict=True)]
