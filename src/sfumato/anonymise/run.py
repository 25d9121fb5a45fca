"""`sf.anonymise`: a table in, the same kind of table out, with a report that says what remains at risk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal, NoReturn, assert_never, final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from sfumato.anonymise.cells import Cells, at_level, narrowest
from sfumato.anonymise.column import Column, read
from sfumato.anonymise.hierarchy import Hierarchy, Tree, climb
from sfumato.anonymise.lattice import Recoding, cannot_be_kept, recode
from sfumato.anonymise.local import peel
from sfumato.anonymise.microaggregate import means, microaggregate
from sfumato.anonymise.models import KAnonymity, KMap, Model, failing
from sfumato.anonymise.mondrian import Mondrian
from sfumato.anonymise.outcome import Outcome
from sfumato.anonymise.people import Classes, People, gather
from sfumato.anonymise.report import Report, not_differential
from sfumato.anonymise.roles import Roles, opened, roles_of, stacked
from sfumato.anonymise.words import WORDS, Lang
from sfumato.core.errors import BadInput, Bug

Method = Literal["auto", "mondrian", "relaxed", "local", "global", "microaggregate"]
METHODS = ("auto", "mondrian", "relaxed", "local", "global", "microaggregate")
Null = Literal["value", "wildcard"]
Edges = Literal["public", "data"]


@final
@dataclass(frozen=True, slots=True)
class Anonymised:
    """`frame, report = sf.anonymise(...)`: the released table, of the kind that came in, and its report."""

    frame: Any
    report: Report = field(repr=False)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.frame, self.report))

    def __reduce__(self) -> NoReturn:
        raise BadInput("a report holds the coded table, and is not pickled", hint="save the frame and report.to_dict()")


def anonymise(
    frame: Any,
    *,
    quasi_identifiers: Sequence[str],
    k: int,
    sensitive: Sequence[str] = (),
    identifiers: Sequence[str] = (),
    keep: Sequence[str] = (),
    models: Sequence[Model] = (),
    hierarchies: Mapping[str, Hierarchy] | None = None,
    cuts: Mapping[str, Sequence[float]] | None = None,
    method: Method = "auto",
    suppression: float | str | Fraction = 0,
    null: Null = "value",
    edges: Edges = "public",
    population: Any = None,
    lang: Lang = "en",
    epsilon: object = None,
    delta: object = None,
) -> Anonymised:
    """Make everybody look like at least k - 1 others in the quasi-identifiers, and satisfy `models` too.

    `frame` is a pandas, Polars or Arrow table, and so is what comes back, its rows in their order (those suppressed are
    left out). `sensitive` columns are released as they are, `identifiers` become "*", `keep` names harmless columns;
    all others are left out. `method` is "mondrian" (the default), "relaxed", "local" (the default where hierarchies are
    given), "global" or "microaggregate". `suppression` is the part of the people that "local" and "global" may leave
    out. `null` says whether a missing value is a value of its own or matches any. Edges of intervals are public (round
    numbers, or your `cuts`) unless `edges="data"`.

    This is not differential privacy; the report says what an attack on the very result finds.
    """
    if epsilon is not None or delta is not None:
        raise not_differential()
    _known("method", method, METHODS)
    _known("null", null, ("value", "wildcard"))
    _known("edges", edges, ("public", "data"))
    _known("lang", lang, tuple(WORDS))
    hierarchies, cuts = dict(hierarchies or {}), dict(cuts or {})
    if method == "auto":
        method = "local" if any(name in hierarchies for name in quasi_identifiers) else "mondrian"
    table = opened(frame)
    roles = roles_of(table, quasi_identifiers, sensitive, identifiers, keep, hierarchies, cuts)
    promise = _promise(k, models, roles, has_population=population is not None)
    rows = len(table)
    if k > rows:
        raise BadInput(f"k = {k} asks for more people than the table has", hint="take a smaller k, or a larger table")
    _fitting(method, null, population is not None, promise)
    world = table.select(roles.quasi_identifiers)
    if population is not None:
        world = stacked(world, opened(population), roles)
    people = _people(table, world, roles, hierarchies, cuts, method=method, edges=edges)
    limit = _limit(suppression, rows)
    wildcard = null == "wildcard"
    recoding: Recoding | None = None
    points: NDArray[np.float64] | None = None
    match method:
        case "mondrian" | "relaxed":
            if failing(promise, people.groups(np.zeros(len(people.weight), np.int64), 1)).any():
                raise cannot_be_kept(promise)
            classes = Mondrian(people, promise, relaxed=method == "relaxed", wildcard=wildcard).classes()
        case "local":
            classes = peel(people, promise, most_suppressed=limit)
        case "global":
            recoding = recode(people, promise, most_suppressed=limit)
            classes = recoding.classes
        case "microaggregate":
            points = _points(table, roles)
            scale = points.std(axis=0)
            classes = microaggregate(people, points / np.where(scale > 0, scale, 1.0), k)
        case _:
            assert_never(method)
    outcome = Outcome.of(people, classes, _cells(people, classes, recoding, wildcard=wildcard))
    if failing(promise, outcome.groups).any():
        raise Bug("a released group breaks the promise; nothing was released")
    report = Report(
        k=k,
        models=promise,
        method=method,
        null=null if any(column.missing for column in people.quasi_identifiers) else "none",
        edges="mean"
        if points is not None
        else "hierarchy"
        if all(name in people.trees for name in roles.quasi_identifiers)
        else edges,
        hidden=tuple(name for name in table.columns if name not in roles.named),
        identifiers=roles.identifiers,
        lang=lang,
        outcome=outcome,
        recoding=recoding,
    )
    centres = None if points is None else means(points, classes)
    return Anonymised(_released(table, roles, outcome, centres, wildcard=wildcard), report)


def _known(name: str, value: str, values: tuple[str, ...]) -> None:
    if value not in values:
        raise BadInput(f"{name} is not one of {', '.join(values)}", hint=f'write {name}="{values[0]}"')


def _promise(k: int, models: Sequence[Model], roles: Roles, *, has_population: bool) -> tuple[Model, ...]:
    promise: tuple[Model, ...] = (KAnonymity(k), *models)
    for model in models:
        if isinstance(model, KMap):
            if not has_population:
                raise BadInput(
                    "k-map counts people of a population", hint="give population=, a table of the same columns"
                )
            continue
        column = getattr(model, "column", None)
        if not isinstance(model, KAnonymity) and not roles.sensitive:
            raise BadInput(f"{model} speaks about a sensitive column", hint='write sensitive=["diagnosis"]')
        if column is not None and column not in roles.sensitive:
            raise BadInput(f"{model}: {column} is not a sensitive column", hint="name it in sensitive=[...]")
    return promise


def _fitting(method: Method, null: Null, has_population: bool, promise: Sequence[Model]) -> None:
    """Which methods cannot keep which promise; said rather than half done."""
    if null == "wildcard" and method not in ("mondrian", "relaxed"):
        raise BadInput(f"a missing value cannot match every value in {method} recoding", hint='use method="mondrian"')
    if has_population and method in ("relaxed", "microaggregate"):
        raise BadInput(
            f"{method} has no place for a population table", hint='use method="mondrian", "local" or "global"'
        )
    if method == "microaggregate" and not all(isinstance(model, KAnonymity) for model in promise):
        raise BadInput("microaggregation keeps k-anonymity only", hint='use method="mondrian" for the other models')


def _limit(suppression: float | str | Fraction, rows: int) -> int:
    try:
        part = Fraction(str(suppression))
    except ValueError:
        part = Fraction(-1)
    if not 0 <= part < 1:
        raise BadInput(
            "suppression is a part of the people, from 0 to below 1", hint='write suppression="0.05" for 5 %'
        )
    return int(part * rows)


def _people(
    table: nw.DataFrame[Any],
    world: nw.DataFrame[Any],
    roles: Roles,
    hierarchies: Mapping[str, Hierarchy],
    cuts: Mapping[str, Sequence[float]],
    *,
    method: Method,
    edges: Edges,
) -> People:
    columns: list[Column] = []
    trees: dict[str, Tree] = {}
    climbing = method in ("local", "global")
    for name in roles.quasi_identifiers:
        wanted = climbing or name in hierarchies
        column = read(world[name], cuts=cuts.get(name), exact=(wanted and name not in cuts) or edges == "data")
        if wanted:
            column, trees[name] = climb(column, hierarchies.get(name))
        columns.append(column)
    for name in roles.sensitive:
        column = read(table[name], exact=True)
        if name in hierarchies:
            column, trees[name] = climb(column, hierarchies[name])
        if len(world) > len(table):
            # Nobody of the population has a sensitive value; their rows count for nothing there.
            column = replace(column, codes=np.concatenate([column.codes, np.zeros(len(world) - len(table), np.int32)]))
        columns.append(column)
    return gather(
        columns,
        len(roles.quasi_identifiers),
        trees,
        sample=len(table),
        one_by_one=method in ("relaxed", "microaggregate"),
    )


def _points(table: nw.DataFrame[Any], roles: Roles) -> NDArray[np.float64]:
    """The quasi-identifiers as numbers, one row for each person."""
    for name in roles.quasi_identifiers:
        if not table[name].dtype.is_numeric():
            raise BadInput(f"column {name} has no mean", hint="microaggregation is for numbers")
        if table[name].is_null().any():
            raise BadInput(
                f"column {name} has missing values", hint="microaggregation needs them all; fill or drop them"
            )
    return np.stack([table[name].cast(nw.Float64).to_numpy() for name in roles.quasi_identifiers], axis=1)


def _cells(people: People, classes: Classes, recoding: Recoding | None, *, wildcard: bool) -> tuple[Cells, ...]:
    found = []
    for place, column in enumerate(people.quasi_identifiers):
        codes, tree = people.codes[place][classes.rows], people.trees.get(column.name)
        if recoding is not None and tree is not None:
            found.append(at_level(column, codes, classes.starts, tree=tree, level=recoding.levels[place]))
        else:
            found.append(narrowest(column, codes, classes.starts, tree=tree, wildcard=wildcard))
    return tuple(found)


def _released(
    table: nw.DataFrame[Any], roles: Roles, outcome: Outcome, centres: NDArray[np.float64] | None, *, wildcard: bool
) -> Any:
    """The table that may be shown: rows in their order, suppressed ones left out, index (if any) started anew."""
    people = outcome.people
    of_person = outcome.classes.of_rows(len(people.weight))[people.of_person]
    kept = of_person >= 0
    everybody = bool(kept.all())
    shown = np.arange(len(of_person)) if everybody else np.flatnonzero(kept)
    of_person = of_person if everybody else of_person[kept]
    cells = {each.column.name: (place, each) for place, each in enumerate(outcome.cells)}
    columns: dict[str, nw.Series[Any]] = {}
    for name in table.columns:
        if name in roles.identifiers:
            columns[name] = nw.new_series(name, ["*"], dtype=nw.String, backend=table.implementation)[
                np.zeros(len(shown), np.int64)
            ]
        elif name in cells:
            place, each = cells[name]
            if centres is not None:
                values = centres[of_person, place]
                columns[name] = nw.new_series(name, values, dtype=nw.Float64, backend=table.implementation)
                continue
            cell = each.of_class[of_person].astype(np.int64)
            if wildcard and each.column.missing:
                gone = people.codes[place][people.of_person[shown]] == each.column.atoms
                cell = np.where(gone, len(each.labels), cell)
            said = nw.new_series(name, [*each.labels, None], dtype=nw.String, backend=table.implementation)
            columns[name] = said[cell]
        elif name in roles.sensitive or name in roles.keep:
            columns[name] = table[name] if everybody else table[name][shown]
    fresh = {name: nw.maybe_reset_index(series) for name, series in columns.items()}
    return nw.from_dict(fresh).to_native()
