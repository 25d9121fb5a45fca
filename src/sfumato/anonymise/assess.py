"""The risk of a table as it stands, released or not: what `sfumato risk` prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, final

import narwhals as nw
import numpy as np

from sfumato.anonymise.attacks import Homogeneity, homogeneity
from sfumato.anonymise.column import read
from sfumato.anonymise.hierarchy import TOP
from sfumato.anonymise.models import AlphaK, DistinctDiversity, EntropyDiversity, KAnonymity, TCloseness
from sfumato.anonymise.outcome import Outcome
from sfumato.anonymise.people import Classes, People, gather, ranked
from sfumato.anonymise.report import finite, homogeneity_line, risk_line
from sfumato.anonymise.risk import Risk, risk_of
from sfumato.anonymise.roles import opened, roles_of, stacked
from sfumato.anonymise.words import Lang, named, say
from sfumato.show.text import count, decimal, labelled


@final
@dataclass(frozen=True, slots=True)
class Assessment:
    """What can be found again in a table, and which promises it happens to keep."""

    quasi_identifiers: tuple[str, ...]
    risk: Risk
    attained: dict[str, float]
    uniques_without: dict[str, int]
    """How many people would stand alone if one column were left out."""
    suppressed: int
    """Rows that say "*" in every quasi-identifier: nobody is found by them, and they are in no figure."""
    homogeneity: tuple[Homogeneity, ...]
    lang: Lang

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return dict(
            finite(
                {
                    "quasi_identifiers": list(self.quasi_identifiers),
                    "risk": asdict(self.risk),
                    "attained": self.attained,
                    "uniques_without": self.uniques_without,
                    "suppressed": self.suppressed,
                    "homogeneity": [asdict(each) for each in self.homogeneity],
                }
            )
        )

    def __str__(self) -> str:
        lang, risk = self.lang, self.risk
        average = risk.people / max(1, risk.groups)
        lines = [
            (
                say("l.groups", lang),
                say(
                    "groups",
                    lang,
                    groups=count(risk.groups, lang=lang),
                    smallest=count(risk.smallest, lang=lang),
                    average=decimal(average, lang=lang),
                ),
            ),
            *(
                [(say("l.people", lang), say("starred", lang, suppressed=count(self.suppressed, lang=lang)))]
                if self.suppressed
                else []
            ),
            (say("l.risk", lang), risk_line(risk, lang)),
            *(
                (
                    say("l.without", lang),
                    say("without", lang, column=name, uniques=count(uniques, lang=lang)),
                )
                for name, uniques in self.uniques_without.items()
            ),
            *(
                (say("l.attained", lang), f"{named(name, lang)} {decimal(value, lang=lang)}")
                for name, value in self.attained.items()
            ),
            *((say("l.attack", lang), homogeneity_line(each, lang)) for each in self.homogeneity),
        ]
        return labelled(lines)


def assess(
    frame: Any,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str] = (),
    population: Any = None,
    threshold: float = 0.2,
    lang: Lang = "en",
) -> Assessment:
    """Group people by what their quasi-identifiers say, whatever they say; a missing value is one more thing to say."""
    table = opened(frame)
    roles = roles_of(table, quasi_identifiers, sensitive, (), (), {}, {})
    everybody = len(table)
    text = [name for name in roles.quasi_identifiers if table[name].dtype == nw.String]
    if len(text) == len(roles.quasi_identifiers):
        gone = nw.all_horizontal(*(nw.col(name) == TOP for name in text), ignore_nulls=True)
        told = table.filter(~gone)
        table = told if len(told) else table
    world = table.select(roles.quasi_identifiers)
    if population is not None:
        world = stacked(world, opened(population), roles)
    columns = [read(world[name], exact=True) for name in roles.quasi_identifiers]
    for name in roles.sensitive:
        column = read(table[name], exact=True)
        columns.append(replace(column, codes=np.pad(column.codes, (0, len(world) - len(table)))))
    people = gather(columns, len(roles.quasi_identifiers), {}, sample=len(table))
    outcome = _as_it_stands(people, range(people.quasi))
    groups = outcome.groups
    attained = {"k-anonymity, k =": KAnonymity(1).attained(groups)}
    for name in roles.sensitive:
        attained |= {
            f"distinct l-diversity, on {name}, l =": DistinctDiversity(1, name).attained(groups),
            f"entropy l-diversity, on {name}, l =": EntropyDiversity(1, name).attained(groups),
            f"(alpha, k)-anonymity, on {name}, alpha =": AlphaK(1, 1, column=name).attained(groups),
            f"t-closeness, on {name}, t =": TCloseness(1, column=name).attained(groups),
        }
    uniques = {}
    for place, column in enumerate(people.quasi_identifiers):
        others = [each for each in range(people.quasi) if each != place]
        if others:
            uniques[column.name] = int((_as_it_stands(people, others).groups.sizes == 1).sum())
    return Assessment(
        roles.quasi_identifiers,
        risk_of(groups.sizes, population=groups.population, threshold=threshold),
        attained,
        uniques,
        everybody - len(table),
        homogeneity(outcome),
        lang,
    )


def _as_it_stands(people: People, places: Sequence[int]) -> Outcome:
    """Everybody in the group of those who say the same in these columns."""
    key = ranked([people.codes[place] for place in places], [people.columns[place].size for place in places])
    distinct, classes = np.unique(key, return_inverse=True)
    rows = np.argsort(classes, kind="stable").astype(np.int32)
    starts = np.searchsorted(classes[rows], np.arange(len(distinct)))
    return Outcome(
        people,
        Classes(rows, starts),
        (),
        np.arange(len(distinct)),
        people.groups(classes.astype(np.int64), len(distinct)),
    )
