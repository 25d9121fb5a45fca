"""A release being put together: products are named, then priced, charged and computed at once, or not at all."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, final

from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, positive, probability
from sfumato.curator.certificate.certificate import Certificate
from sfumato.curator.release.asked import Asking
from sfumato.curator.release.execute import execute
from sfumato.curator.release.offer import Heading, Offer
from sfumato.curator.release.product import Portion, Wanted
from sfumato.curator.release.published import Published
from sfumato.curator.release.shares import divided
from sfumato.curator.release.synthetic import Synthesising
from sfumato.curator.release.weights import Weighing, WeightsPart
from sfumato.queries.frame import Aggregation, Frame, Grouped, count, mean, quantile

if TYPE_CHECKING:
    from sfumato.curator.dataset import Dataset
    from sfumato.curator.session import Session
    from sfumato.queries.schema import Column

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@final
class Publication:
    """Products under one heading and on one budget. Each may say its `share` of it; equal shares are the default.

    The list is closed when it is priced for good: at the end of the `with` block, or when its certificate is asked for.
    An error inside the block leaves everything as it was.
    """

    def __init__(
        self,
        dataset: Dataset,
        *,
        epsilon: Number,
        delta: Number = 0,
        name: str = "release",
        edition: str | None = None,
        title: str = "",
        issuer: str = "",
        public: Sequence[str] = (),
        supersedes: str | None = None,
        reason: str = "",
        analyst: str = "owner",
        confidence: Number | None = None,
    ) -> None:
        self.dataset, self.analyst = dataset, analyst
        self.epsilon, self.delta = positive(epsilon, name="epsilon"), probability(delta, name="delta")
        self.confidence = None if confidence is None else probability(confidence, name="confidence")
        for text, what in ((name, "name"), (edition, "edition")):
            if text is not None and not _NAME.fullmatch(text):
                raise BadInput(
                    f"the {what} of a release becomes part of a file's name, and this one cannot",
                    hint="use letters, digits, dots and dashes: 2026-11",
                )
        self.heading = Heading(name, edition, title, issuer, tuple(public), supersedes, reason)
        self._wanted: list[Wanted] = []
        self._published: Published | None = None

    # Products.

    def add(self, wanted: Wanted) -> None:
        """One more product: anything that can say its price before a row is read."""
        if self._published is not None:
            raise BadInput("this release exists already, and nothing is added to it", hint="publish another one")
        if not _NAME.fullmatch(wanted.name):
            raise BadInput(f"{wanted.name[:40]!r} cannot be the name of a file", hint="name the product: name='income'")
        if any(each.name == wanted.name for each in self._wanted):
            raise BadInput(f"two products are called {wanted.name}", hint="name one of them otherwise: name='...'")
        self._wanted.append(wanted)

    def counts(
        self,
        *by: str,
        table: str | None = None,
        where: str | None = None,
        name: str | None = None,
        share: Number = 1,
    ) -> None:
        """How many rows there are for each combination of keys."""
        self._ask(
            "counts", name or "-".join(["counts", *by]), self._grouped(by, table, where), {"count": count()}, share
        )

    def means(
        self,
        of: str,
        *,
        by: str | Sequence[str] = (),
        table: str | None = None,
        where: str | None = None,
        name: str | None = None,
        share: Number = 1,
    ) -> None:
        """The mean of a column in each group, and the number of rows that comes with it at no further price."""
        keys = (by,) if isinstance(by, str) else tuple(by)
        measured = {"count": count(of), _plain(of): mean(of)}
        self._ask(
            "means",
            name or "-".join(["means", _plain(of), *keys]),
            self._grouped(keys, table, where),
            measured,
            share,
            "points",
        )

    def histogram(
        self,
        of: str,
        *,
        edges: Sequence[Number] = (),
        by: str | Sequence[str] = (),
        method: str = "flat",
        workload: str = "ranges",
        table: str | None = None,
        where: str | None = None,
        name: str | None = None,
        share: Number = 1,
    ) -> None:
        """How many rows there are for each value of a column, or in each bin between public `edges`.

        `flat` blurs each bin by itself. `privelet`, `hierarchy` and others make sums over ranges more precise, at the bins'
        cost; `best` is the one that errs least on the `workload` ("ranges", or "cdf": cumulative counts).
        """
        keys, rows = (by,) if isinstance(by, str) else tuple(by), self._rows(table)
        rows = rows if where is None else rows.filter(where)
        grouped = rows.binned(of, list(edges), *keys) if edges else rows.group_by(of, *keys)
        flat, best = method.casefold() == "flat", method.casefold() == "best"
        plan = grouped.agg(count=count()).plan
        title = name or "-".join(["histogram", _plain(of), *keys])
        self.add(
            Asking(
                title,
                "histogram",
                ((title, plan),),
                positive(share, name="share"),
                workload="bins" if flat else workload,
                method="" if flat or best else method,
            )
        )

    def quantiles(
        self,
        of: str,
        at: Sequence[Number],
        *,
        by: str | Sequence[str] = (),
        table: str | None = None,
        where: str | None = None,
        name: str | None = None,
        share: Number = 1,
    ) -> None:
        """Quantiles of a column, in each group; a row for each, with how far its rank may be off."""
        keys = (by,) if isinstance(by, str) else tuple(by)
        measured = {_plain(of): quantile(of, *at)}
        self._ask(
            "quantiles",
            name or "-".join(["quantiles", _plain(of), *keys]),
            self._grouped(keys, table, where),
            measured,
            share,
            "points",
        )

    def marginals(
        self,
        columns: Sequence[str],
        *,
        ways: int = 2,
        table: str | None = None,
        where: str | None = None,
        name: str | None = None,
        share: Number = 1,
    ) -> None:
        """Counts over every combination of `ways` of the columns: a table for each, all on this product's share."""
        if not 1 <= ways <= len(columns) or len(set(columns)) < len(columns):
            raise BadInput(
                "marginals are over some of the columns, each named once", hint="give several columns and ways=2"
            )
        questions = []
        for keys in combinations(columns, ways):
            plan = self._grouped(keys, table, where).agg(count=count()).plan
            questions.append(("-".join([name or "marginal", *keys]), plan))
        self.add(
            Asking(
                name or "-".join(["marginals", *columns])[:100],
                "marginals",
                tuple(questions),
                positive(share, name="share"),
                "grid" if ways == 2 else "bars" if ways == 1 else "nothing",
            )
        )

    def weights(
        self,
        *,
        public: Any,
        columns: Sequence[str] | None = None,
        most: Number | None = None,
        table: str | None = None,
        where: str | None = None,
        name: str = "weights",
        share: Number = 1,
    ) -> None:
        """Weights for the rows of a `public` table, so that its weighted averages estimate private ones.

        `public` is a frame or an Arrow table; `columns` are those of the policy that it has too. `most` cuts the largest.
        """
        rows = self._rows(table)
        given = {each: public[each] for each in _columns(public)}
        declared = rows.schema.table(rows.name)
        known = [each.name for each in declared.columns if each.name in given] if declared is not None else []
        missing = [each for each in columns or () if each not in given]
        if missing:
            raise BadInput(f"the public table has no column {missing[0]}", hint=f"it has {', '.join(given)}")
        self.add(
            Weighing(
                name,
                rows if where is None else rows.filter(where),
                given,
                tuple(columns or known),
                positive(share, name="share"),
                None if most is None else positive(most, name="most"),
            )
        )

    def synthetic(
        self,
        columns: Sequence[str] | None = None,
        *,
        method: str = "aim",
        edges: Mapping[str, Sequence[Number]] | None = None,
        table: str | None = None,
        where: str | None = None,
        name: str = "synthetic",
        share: Number = 1,
    ) -> None:
        """Rows that nobody has, close to the private ones in every pair of columns: `aim`, or the quicker `mst`.

        Columns are all that have a public list or range, unless they are named; numbers of long ranges fall into public bins,
        of `edges` where these are given. Under a pure budget it spends its part of the release's delta, if there is any.
        """
        rows = self._rows(table)
        declared = rows.schema.table(rows.name)
        known = [] if declared is None else [each.name for each in declared.columns if _codable(each)]
        self.add(
            Synthesising(
                name,
                rows if where is None else rows.filter(where),
                tuple(columns or known),
                positive(share, name="share"),
                method,
                edges,
            )
        )

    def question(self, sql: str, *, name: str, share: Number = 1) -> None:
        """What a question in SQL answers."""
        plan = self._session().sql(sql).plan
        self.add(Asking(name, "question", ((name, plan),), positive(share, name="share"), "points"))

    def _ask(
        self,
        kind: str,
        name: str,
        grouped: Grouped,
        measured: dict[str, Aggregation],
        share: Number,
        drawn: Any = "bars",
    ) -> None:
        plan = grouped.agg(**measured).plan
        self.add(Asking(name, kind, ((name, plan),), positive(share, name="share"), drawn))

    def _grouped(self, by: Sequence[str], table: str | None, where: str | None) -> Grouped:
        rows = self._rows(table)
        return (rows if where is None else rows.filter(where)).group_by(*by)

    def _rows(self, table: str | None) -> Frame:
        """The rows of the table that is meant: the only private one when none is named."""
        private = [each.name for each in self.dataset.schema.tables if not each.public]
        if table is None and len(private) != 1:
            raise BadInput(
                f"the policy has {len(private)} private tables, and none was named",
                hint=f"say which: table={private[0]!r}" if private else "declare one in the policy",
            )
        return self._session().table(table or private[0])

    def _session(self) -> Session:
        return self.dataset.session(self.analyst)

    # From wish to release.

    def price(self) -> Offer:
        """What it would cost and how precise it would be. Free: nothing is read or charged."""
        if not self._wanted:
            raise BadInput(
                "this release holds no product", hint='add one: p.counts("sex"), or [[products]] in a bulletin'
            )
        shares = [each.share for each in self._wanted]
        prices = divided(self.dataset.budget, self.epsilon, shares)
        whole = sum(shares, Fraction(0))
        session = self._session()
        products = tuple(
            each.priced(Portion(session, epsilon, self.delta * each.share / whole, self.confidence))
            for each, epsilon in zip(self._wanted, prices, strict=True)
        )
        offer = Offer(self.dataset, self.heading, products, self.epsilon, self._delta(), self.analyst)
        offer.supersedes()
        _refuse_twice(offer)
        return offer

    def _delta(self) -> Fraction:
        """Under zcdp there is no promise without a delta: the policy's own when none is given."""
        if self.delta or self.dataset.policy.document.budget.accountant == "pure":
            return self.delta
        return self.dataset.policy.document.budget.delta

    def scan(self) -> None:
        """Read the rows and refuse what would be a mistake to publish. For the owner: what it says depends on the rows.

        It costs nothing, because nobody but the owner hears of it; nothing that is published depends on it.
        """
        for part in self.price().parts.values():
            if isinstance(part, WeightsPart):
                part.scan()

    def release(self) -> Published:
        """Charge it, compute it, and close the list of products. A second time it is the same release."""
        if self._published is None:
            self._published = execute(self.price())
        return self._published

    @property
    def certificate(self) -> Certificate:
        """The signed certificate. Asking for it closes the list of products, and charges them."""
        return self.release().certificate

    def save(self, folder: str | Path) -> Path:
        """Release it, and write its files into a new folder."""
        return self.release().save(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.release()


def _refuse_twice(offer: Offer) -> None:
    names = [name for product in offer.products for name in product.names]
    if len(set(names)) < len(names):
        raise BadInput("two tables would have the same name", hint="name the products: name='...'")


def _codable(column: Column) -> bool:
    numbers = column.type in {"integer", "number"} and column.range is not None
    return isinstance(column.values, tuple) or column.type == "boolean" or numbers


def _columns(public: Any) -> list[str]:
    """The names of a table's columns, whatever kind of table it is."""
    names = getattr(public, "column_names", None)
    return [str(each) for each in (names if names is not None else getattr(public, "columns", public))]


def _plain(expression: str) -> str:
    """An expression as part of a name."""
    return re.sub(r"[^A-Za-z0-9_]+", "-", expression).strip("-") or "value"
