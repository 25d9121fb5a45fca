"""The report of an anonymised table: what was done and kept, what it costs, what remains at risk, and that it is not
differential privacy. Failures are counts; no row of the table is in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from math import isinf
from typing import Any, NoReturn, final

from sfumato.anonymise.attacks import Homogeneity, Linkage, homogeneity, linkage
from sfumato.anonymise.lattice import Recoding
from sfumato.anonymise.models import Model
from sfumato.anonymise.outcome import Outcome
from sfumato.anonymise.risk import Risk, risk_of
from sfumato.anonymise.utility import Accuracy, QueryError, Utility, accuracy, measure, query_error
from sfumato.anonymise.words import Lang, named, say
from sfumato.core.errors import BadInput, NotSupported
from sfumato.show.text import count, decimal, labelled, percent


@final
@dataclass(frozen=True)
class Report:
    """What was asked, what was attained, and every figure about it; figures are computed when they are first read."""

    k: int
    models: tuple[Model, ...]
    method: str
    null: str
    edges: str
    hidden: tuple[str, ...]
    identifiers: tuple[str, ...]
    lang: Lang
    outcome: Outcome
    recoding: Recoding | None = None

    @property
    def rows(self) -> int:
        """People in the table."""
        return self.outcome.people.count

    @property
    def released(self) -> int:
        return self.outcome.released

    @property
    def suppressed(self) -> int:
        return self.outcome.suppressed

    @property
    def attained(self) -> dict[str, float]:
        """For each model, the strictest parameter that every released group satisfies."""
        return {str(model): model.attained(self.outcome.groups) for model in self.models}

    @cached_property
    def utility(self) -> Utility:
        return measure(self.outcome, k=self.k)

    @cached_property
    def risk(self) -> Risk:
        return risk_of(self.outcome.groups.sizes, population=self.outcome.groups.population)

    @cached_property
    def homogeneity(self) -> tuple[Homogeneity, ...]:
        return homogeneity(self.outcome)

    @cached_property
    def linkage(self) -> Linkage:
        return linkage(self.outcome)

    def query_error(self, *, queries: int = 200) -> QueryError:
        """The error of counts asked of the release."""
        return query_error(self.outcome, queries=queries)

    def accuracy(self, target: str) -> Accuracy:
        """A classifier of a sensitive column, before and after."""
        if target not in self.outcome.groups.spreads:
            raise BadInput(f"{target} is not a sensitive column of this table", hint="name one of sensitive=[...]")
        return accuracy(self.outcome, target)

    @property
    def epsilon(self) -> NoReturn:
        """There is none."""
        raise not_differential()

    @property
    def warning(self) -> str:
        """That this is not differential privacy, with what the attacks on this very release found."""
        worst = max(self.homogeneity, key=lambda each: (each.certain, each.odds), default=None)
        if worst is None:
            figure = say("figure.alone", self.lang, highest=percent(self.risk.prosecutor_highest, lang=self.lang))
        else:
            figure = say(
                "figure.sensitive",
                self.lang,
                certain=count(worst.certain, lang=self.lang),
                people=count(worst.people, lang=self.lang),
                column=worst.column,
                odds=say("odds.unbounded", self.lang)
                if isinf(worst.odds)
                else say("odds", self.lang, odds=decimal(worst.odds, lang=self.lang)),
            )
        return say("warning", self.lang, figure=figure)

    def plot(self) -> Any:
        """The sizes of the groups, as a chart."""
        from sfumato.show.chart import class_sizes

        return class_sizes(
            self.outcome.sizes.tolist(),
            k=self.k,
            title=say("chart.sizes", self.lang),
            size=say("chart.size", self.lang),
            people=say("chart.people", self.lang),
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        everything = {
            "method": self.method,
            "models": [str(model) for model in self.models],
            "attained": self.attained,
            "null": self.null,
            "edges": self.edges,
            "hidden": list(self.hidden),
            "identifiers": list(self.identifiers),
            "levels": dict(self._levels()),
            "rows": self.rows,
            "released": self.released,
            "suppressed": self.suppressed,
            "utility": asdict(self.utility),
            "risk": asdict(self.risk),
            "homogeneity": [asdict(each) for each in self.homogeneity],
            "linkage": asdict(self.linkage),
            "warning": self.warning,
        }
        return dict(finite(everything))

    def _levels(self) -> Mapping[str, int]:
        if self.recoding is None:
            return {}
        names = [column.name for column in self.outcome.people.quasi_identifiers]
        return dict(zip(names, self.recoding.levels, strict=True))

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"

    def __repr__(self) -> str:
        return f"Report({' and '.join(map(str, self.models))}: {self.released} of {self.rows} rows released)"

    def __reduce__(self) -> NoReturn:
        raise BadInput(
            "a report holds the coded table, and is not pickled", hint="save report.to_dict(), or str(report)"
        )

    def __str__(self) -> str:
        return labelled([*self._kept(), *self._costs(), *self._attacks(), *self._choices()])

    def _kept(self) -> list[tuple[str, str]]:
        lang, utility = self.lang, self.utility
        recoding = self.recoding
        levels = ", ".join(f"{name} {level}" for name, level in self._levels().items())
        return [
            (
                say("l.method", lang),
                say(
                    self.method,
                    lang,
                    levels=levels,
                    looked=recoding.looked_at if recoding else 0,
                    nodes=recoding.nodes if recoding else 0,
                ),
            ),
            (
                say("l.people", lang),
                say(
                    "people",
                    lang,
                    rows=count(self.rows, lang=lang),
                    released=count(self.released, lang=lang),
                    suppressed=count(self.suppressed, lang=lang),
                ),
            ),
            (
                say("l.groups", lang),
                say(
                    "groups",
                    lang,
                    groups=count(utility.classes, lang=lang),
                    smallest=count(self.risk.smallest, lang=lang),
                    average=decimal(utility.average_class, lang=lang),
                ),
            ),
            *(
                (
                    say("l.promise", lang),
                    say("promise", lang, model=named(name, lang), attained=decimal(value, lang=lang)),
                )
                for name, value in self.attained.items()
            ),
        ]

    def _costs(self) -> list[tuple[str, str]]:
        lang, utility, risk = self.lang, self.utility, self.risk
        columns = ", ".join(f"{name} {percent(loss, lang=lang)}" for name, loss in utility.loss_by_column.items())
        return [
            (
                say("l.loss", lang),
                say(
                    "loss",
                    lang,
                    loss=percent(utility.loss, lang=lang),
                    columns=columns,
                    entropy=percent(utility.entropy_loss, lang=lang),
                    discernibility=count(utility.discernibility, lang=lang),
                    ratio=decimal(utility.normalised_average_class, lang=lang),
                ),
            ),
            (say("l.risk", lang), risk_line(risk, lang)),
        ]

    def _attacks(self) -> list[tuple[str, str]]:
        lang, link = self.lang, self.linkage
        told = "".join(
            say("told", lang, told=count(number, lang=lang), column=column) for column, number in link.told.items()
        )
        linked = say(
            "linkage",
            lang,
            targets=count(link.targets, lang=lang),
            fewest=count(link.fewest_matches, lang=lang),
            mean=decimal(link.mean_matches, lang=lang),
            singled=count(link.singled_out, lang=lang),
            absent=count(link.absent, lang=lang),
        )
        return [
            *((say("l.attack", lang), homogeneity_line(each, lang)) for each in self.homogeneity),
            (say("l.attack", lang), linked + told),
        ]

    def _choices(self) -> list[tuple[str, str]]:
        lang = self.lang
        said = [say(f"null.{self.null}", lang), say(f"edges.{self.edges}", lang)]
        if self.identifiers:
            said.append(say("replaced", lang, columns=", ".join(self.identifiers)))
        if self.hidden:
            said.append(say("hidden", lang, columns=", ".join(self.hidden)))
        said.append(say("order", lang))
        return [*((say("l.choice", lang), each) for each in said), (say("l.warning", lang), self.warning)]


def not_differential() -> NotSupported:
    """k-anonymity was asked for as if it were differential privacy."""
    return NotSupported(
        "k-anonymity and its family have no epsilon: nothing bounds what two such releases tell together.",
        hint="use sf.open(policy) and session.ask or publish for differential privacy, or leave epsilon out",
        code="SF018",
    )


def risk_line(risk: Risk, lang: Lang) -> str:
    """The risk of being found again, as a sentence."""
    journalist = say("no population", lang)
    if risk.population_known:
        highest, mean = percent(risk.journalist_highest, lang=lang), percent(risk.journalist_mean, lang=lang)
        journalist = say("journalist", lang, highest=highest, mean=mean)
    return say(
        "risk",
        lang,
        highest=percent(risk.prosecutor_highest, lang=lang),
        mean=percent(risk.prosecutor_mean, lang=lang),
        above=count(risk.above, lang=lang),
        threshold=percent(risk.threshold, lang=lang),
        journalist=journalist,
        marketer=percent(risk.marketer, lang=lang),
        uniques=count(risk.uniques, lang=lang),
    )


def homogeneity_line(attack: Homogeneity, lang: Lang) -> str:
    """What the homogeneity attack found, as a sentence."""
    return say(
        "homogeneity",
        lang,
        column=attack.column,
        certain=count(attack.certain, lang=lang),
        people=count(attack.people, lang=lang),
        guessed=percent(attack.guessed, lang=lang),
        baseline=percent(attack.baseline, lang=lang),
    )


def finite(value: Any) -> Any:
    """The same, with None for what has no bound: JSON knows no infinity."""
    match value:
        case dict():
            return {key: finite(each) for key, each in value.items()}
        case list():
            return [finite(each) for each in value]
        case float() if isinf(value):
            return None
        case _:
            return value
