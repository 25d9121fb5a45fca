"""An anonymised table from the inside: its people, their classes, and the cells that are said of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymise.cells import Cells
from sfumato.anonymise.groups import Groups
from sfumato.anonymise.people import Classes, People, ranked


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """`published` numbers the classes as a reader sees them: classes with the same cells are one group of look-alikes."""

    people: People
    classes: Classes
    cells: tuple[Cells, ...]
    published: NDArray[np.int64]
    groups: Groups

    @classmethod
    def of(cls, people: People, classes: Classes, cells: tuple[Cells, ...]) -> Outcome:
        said = ranked([each.of_class for each in cells], [len(each.labels) for each in cells])
        distinct, published = np.unique(said, return_inverse=True)
        count = len(distinct)
        rows = classes.rows.astype(np.int64)
        groups = people.groups(published[classes.of_members()], count, rows=rows)
        return cls(people, classes, cells, published, groups)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """People in each group of look-alikes; a group of the population alone has none and is not released."""
        return self.groups.sizes[self.groups.sizes > 0]

    @property
    def class_sizes(self) -> NDArray[np.int64]:
        """People in each class."""
        weight = self.people.weight[self.classes.rows]
        return np.add.reduceat(weight, self.classes.starts) if len(self.classes) else np.zeros(0, np.int64)

    @property
    def released(self) -> int:
        """How many people are in the release."""
        return int(self.groups.sizes.sum())

    @property
    def suppressed(self) -> int:
        """How many people are not."""
        return self.people.count - self.released
