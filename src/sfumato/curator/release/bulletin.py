"""A release written down: one TOML file that says what is published, under which name, on which budget."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sfumato.core.errors import BadInput
from sfumato.curator.policy.document import Number, Text, Texts
from sfumato.curator.policy.places import Places
from sfumato.curator.release.publication import Publication

if TYPE_CHECKING:
    from sfumato.curator.dataset import Dataset


class _Part(BaseModel):
    """A table of the file: unknown keys are refused, and nothing is converted in silence."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, arbitrary_types_allowed=True)


class _Product(_Part):
    """What every product may say."""

    name: Text | None = Field(default=None, description="of its files")
    share: Number = Field(default=Fraction(1), description="of the budget, beside the other products' shares")


class _OfTable(_Product):
    """A product of the rows of one table."""

    table: Text | None = Field(default=None, description="the only private table when it is left out")
    where: Text | None = Field(default=None, description="which rows: an SQL condition")


@final
class Counts(_OfTable):
    """How many rows there are for each combination of keys."""

    kind: Literal["counts"]
    by: Texts

    def into(self, publication: Publication) -> None:
        publication.counts(*self.by, **_terms(self))


@final
class Means(_OfTable):
    """The mean of a column in each group."""

    kind: Literal["means"]
    of: Text
    by: Texts = ()

    def into(self, publication: Publication) -> None:
        publication.means(self.of, by=self.by, **_terms(self))


@final
class Histogram(_OfTable):
    """How many rows there are for each value, or in each bin between public edges."""

    kind: Literal["histogram"]
    of: Text
    edges: Annotated[tuple[Number, ...], Field(strict=False)] = ()
    by: Texts = ()
    method: Text = "flat"
    workload: Literal["ranges", "cdf"] = "ranges"

    def into(self, publication: Publication) -> None:
        publication.histogram(
            self.of, edges=self.edges, by=self.by, method=self.method, workload=self.workload, **_terms(self)
        )


@final
class Quantiles(_OfTable):
    """Quantiles of a column, in each group."""

    kind: Literal["quantiles"]
    of: Text
    at: Annotated[tuple[Number, ...], Field(strict=False, min_length=1)]
    by: Texts = ()

    def into(self, publication: Publication) -> None:
        publication.quantiles(self.of, self.at, by=self.by, **_terms(self))


@final
class Marginals(_OfTable):
    """Counts over every combination of some of the columns."""

    kind: Literal["marginals"]
    columns: Texts
    ways: Annotated[int, Field(ge=1)] = 2

    def into(self, publication: Publication) -> None:
        publication.marginals(self.columns, ways=self.ways, **_terms(self))


@final
class Synthetic(_OfTable):
    """Rows that nobody has."""

    kind: Literal["synthetic"]
    name: Text = "synthetic"
    columns: Texts | None = None
    method: Literal["aim", "mst"] = "aim"
    edges: Mapping[str, Annotated[tuple[Number, ...], Field(strict=False)]] = Field(default_factory=dict)

    def into(self, publication: Publication) -> None:
        publication.synthetic(self.columns, method=self.method, edges=self.edges, **_terms(self))


@final
class Weights(_OfTable):
    """Weights for the rows of a public table."""

    kind: Literal["weights"]
    name: Text = "weights"
    public: Text = Field(description="a .csv or .parquet file beside the bulletin")
    columns: Texts | None = None
    most: Number | None = None

    def into(self, publication: Publication) -> None:
        publication.weights(public=_table(Path(self.public)), columns=self.columns, most=self.most, **_terms(self))


@final
class Asked(_Product):
    """What a question in SQL answers."""

    kind: Literal["question"]
    sql: Text
    name: Text

    def into(self, publication: Publication) -> None:
        publication.question(self.sql, name=self.name, share=self.share)


Product = Annotated[
    Counts | Means | Histogram | Quantiles | Marginals | Synthetic | Weights | Asked, Field(discriminator="kind")
]


@final
class Release(_Part):
    """The heading and the budget."""

    name: Text = Field(description="of the release; with an edition it is published once")
    epsilon: Number = Field(description="the most that all products together cost")
    delta: Number = Field(default=Fraction(0), description="at which the release's own epsilon is stated")
    title: str = ""
    issuer: str = Field(default="", description="who publishes; the policy's contact by default")
    public: Texts = Field(default=(), description="what is public about the same people anyway")
    output: Text = Field(default="{name}-{edition}", description="the folder; {name} and {edition} are put in")
    confidence: Number | None = Field(default=None, description="of the bars; the policy's by default")


@final
class Bulletin(_Part):
    """The whole file."""

    release: Release
    products: Annotated[tuple[Product, ...], Field(strict=False, min_length=1)]

    @classmethod
    def load(cls, path: str | Path) -> Bulletin:
        """The bulletin in a file; BadInput, with its place, at the first thing that is wrong with it."""
        file = Path(path)
        try:
            text = file.read_bytes().decode("utf-8-sig")
        except OSError:
            raise BadInput(
                f"there is no bulletin at {file}", hint="write one: [release] and [[products]] (docs/releases.md)"
            ) from None
        except UnicodeDecodeError:
            raise BadInput(f"{file.name} is not UTF-8 text", hint="save it as UTF-8") from None
        try:
            raw = tomllib.loads(text, parse_float=Decimal)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{file.name} is not TOML: {error}", hint="text stands in quotes, keys once") from None
        for product in raw.get("products", []) if isinstance(raw.get("products"), list) else []:
            if isinstance(product, dict) and isinstance(product.get("public"), str):
                product["public"] = str(file.parent / product["public"])
        try:
            return cls.model_validate(raw)
        except ValidationError as error:
            raise _wrong(file.name, error, text) from None

    def publication(
        self, dataset: Dataset, *, edition: str, supersedes: str | None = None, reason: str = "", analyst: str = "owner"
    ) -> Publication:
        """The release of one edition, ready to be priced."""
        release = self.release
        made = Publication(
            dataset,
            epsilon=release.epsilon,
            delta=release.delta,
            name=release.name,
            edition=edition,
            title=release.title,
            issuer=release.issuer,
            public=release.public,
            supersedes=supersedes,
            reason=reason,
            analyst=analyst,
            confidence=release.confidence,
        )
        for product in self.products:
            product.into(made)
        return made

    def folder(self, edition: str, *, beside: Path) -> Path:
        """Where this edition is written, from the bulletin's own folder."""
        place = self.release.output.replace("{name}", self.release.name).replace("{edition}", edition)
        return beside / place


def _table(file: Path) -> Any:
    """A public table in a file, as Arrow has it."""
    import pyarrow as pa
    import pyarrow.csv as text
    import pyarrow.parquet as parquet

    try:
        return parquet.read_table(file) if file.suffix == ".parquet" else text.read_csv(file)
    except (OSError, pa.ArrowInvalid):
        raise BadInput(
            f"there is no public table at {file}, or it cannot be read", hint="name a .csv or .parquet file"
        ) from None


def _terms(product: _OfTable) -> dict[str, Any]:
    return {"table": product.table, "where": product.where, "name": product.name, "share": product.share}


def _wrong(name: str, error: ValidationError, text: str) -> BadInput:
    first = error.errors(include_url=False)[0]
    path = tuple(each for each in first["loc"] if each not in _KINDS)
    line, column = Places.of(text).value(path)
    what = ".".join(str(each + 1) if isinstance(each, int) else str(each) for each in path) or "the file"
    return BadInput(
        f"{name}, line {line}, column {column}: {what}: {_said(first['type'], first.get('ctx', {}), str(first['msg']))}",
        hint=f"a product is of one of the kinds {', '.join(sorted(_KINDS))}; see docs/releases.md",
    )


_KINDS = {"counts", "histogram", "means", "marginals", "quantiles", "question", "synthetic", "weights"}


def _said(kind: str, context: Mapping[str, Any], message: str) -> str:
    match kind:
        case "extra_forbidden":
            return "there is no such key"
        case "missing":
            return "this key is missing"
        case "union_tag_invalid":
            return f"there is no kind {str(context.get('tag'))[:40]}"
        case "union_tag_not_found":
            return "its kind is missing"
        case "value_error":
            return str(context.get("error", message))
        case _:
            return message[:1].lower() + message[1:]
