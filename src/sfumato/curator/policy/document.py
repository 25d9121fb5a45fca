"""The policy file as a pydantic model: every key there is, what it may hold, and the JSON Schema of it all."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal, final

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, PlainValidator, WithJsonSchema

from sfumato.queries.schema import Kind

Scalar = bool | int | Fraction | str | date
_DIGITS = 400
"""Digits of a number, before or behind its point: more than any double has, and few enough to be computed with and printed."""
_NUMBER = {"type": "number"}
_DATE = {"type": "string", "format": "date", "description": "written without quotes: 2026-11-30"}


def _number(value: object) -> Fraction:
    """A TOML number is the decimal that was written: 0.1 is a tenth."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise ValueError("must be a number")
    if isinstance(value, Decimal) and not value.is_finite():
        raise ValueError("must be a finite number")
    exact = Decimal(value)
    if exact and (abs(exact.adjusted()) > _DIGITS or len(exact.as_tuple().digits) > _DIGITS):
        raise ValueError(f"must be a number of at most {_DIGITS} digits")
    return Fraction(value)


def _edge(value: object) -> Fraction | date:
    if isinstance(value, datetime):
        raise ValueError("must be a date without a time")
    return value if isinstance(value, date) else _number(value)


def _scalar(value: object) -> Scalar:
    match value:
        case bool() | int() | str():
            return value
        case Decimal():
            return _number(value)
        case datetime():
            raise ValueError("must be a date without a time")
        case date():
            return value
        case _:
            raise ValueError("must be text, a number, a date, true or false")


def _values(value: object) -> tuple[Scalar, ...] | str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return tuple(_scalar(each) for each in value)
    raise ValueError('must be a list, "private", or "csv:FILE:COLUMN"')


def _range(value: object) -> tuple[Fraction | date, Fraction | date]:
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError("must be two bounds, [low, high]")
    return _edge(value[0]), _edge(value[1])


Number = Annotated[Fraction, PlainValidator(_number), PlainSerializer(float, when_used="json"), WithJsonSchema(_NUMBER)]
Range = Annotated[
    tuple[Fraction | date, Fraction | date],
    PlainValidator(_range),
    WithJsonSchema({"type": "array", "items": {"anyOf": [_NUMBER, _DATE]}, "minItems": 2, "maxItems": 2}),
]
Values = Annotated[
    tuple[Scalar, ...] | str,
    PlainValidator(_values),
    WithJsonSchema(
        {
            "anyOf": [
                {"const": "private"},
                {"type": "string", "pattern": "^csv:.+:.+$"},
                {
                    "type": "array",
                    "items": {"anyOf": [{"type": "string"}, _NUMBER, {"type": "boolean"}, _DATE]},
                    "minItems": 1,
                },
            ]
        }
    ),
]
Text = Annotated[str, Field(min_length=1)]
Texts = Annotated[tuple[str, ...], Field(strict=False)]
Count = Annotated[int, Field(ge=1)]


class _Part(BaseModel):
    """A table of the file: unknown keys are refused, and nothing is converted in silence."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, arbitrary_types_allowed=True)


@final
class Dataset(_Part):
    """What is protected, and what is public about it."""

    name: Text = Field(description="what people call it")
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")] = Field(
        description="random, written by `sfumato init`; the budget belongs to it, so it never changes"
    )
    version: Text = Field(description="said by the owner when the rows change, never computed from them")
    size: Count | None = Field(default=None, description="how many rows, roughly and publicly: for forecasts only")
    missing: Texts = Field(default=("",), description="texts that are read as NULL")
    timezone: Text = Field(default="UTC", description="the day that a moment falls on is the day there: Europe/Paris")
    contact: Text | None = Field(default=None, description="whom to ask")


@final
class Unit(_Part):
    """Who is protected, over the whole life of the data set."""

    kind: Literal["person", "household", "device", "row"] = Field(description="who is protected")
    neighbours: Literal["add-remove", "replace"] = Field(
        default="add-remove", description="two tables that must look alike differ by one unit, added or replaced"
    )
    max_rows: Count = Field(default=1, description="at most so many rows of one unit count, once joined and filtered")
    max_groups: Count | None = Field(default=None, description="used only where the groups themselves are private")
    max_rows_is_fact: bool = Field(default=False, description="no unit has more than max_rows rows, and this is known")


@final
class Budget(_Part):
    """The most that may be spent on all answers together, for ever."""

    epsilon: Number = Field(description="the most that all answers together may reveal about one unit")
    delta: Number = Field(default=Fraction(0), description="the probability with which that may fail")
    accountant: Literal["pure", "zcdp"] = Field(default="pure", description="how costs add up")
    per_analyst: Mapping[str, Number] = Field(
        default_factory=dict, description='epsilon by name; "default" speaks for everyone else'
    )


@final
class ColumnRules(_Part):
    """A column that questions may name. What is not declared is hidden."""

    type: Kind | None = Field(default=None, description="may be left out of a column that has `values`")
    range: Range | None = Field(default=None, description="public bounds; what lies outside is clamped to them")
    why: Text | None = Field(default=None, description="how everyone can know this without looking at the rows")
    values: Values | None = Field(default=None, description="the public list of keys, or private")
    ordered: bool = Field(
        default=False, description="the list is in its order, which makes ranges and quantiles possible"
    )
    null: Literal["group", "drop", "refuse"] = Field(default="drop", description="what becomes of missing values")
    levels: Texts = Field(default=(), description="columns of the csv list, coarse to fine; the last is the key itself")
    grain: Number | None = Field(default=None, description="numbers are kept to a multiple of this")


@final
class TableRules(_Part):
    """A table that questions may name."""

    source: Text | None = Field(default=None, description="csv: parquet: duckdb: postgresql: spark: and where it is")
    unit: Text | None = Field(
        default=None, description='the column that says whose row it is, or "column -> table.column"'
    )
    public: bool = Field(default=False, description="everyone may read these rows; nothing protects them")
    unique: Texts = Field(default=(), description="columns that hold each value once")
    columns: Mapping[str, ColumnRules] = Field(default_factory=dict)


@final
class Answers(_Part):
    """How answers look. Nothing here costs anything."""

    confidence: Number = Field(default=Fraction(95, 100), description="of the bars beside the numbers")
    post_process: Annotated[tuple[Literal["nonnegative"], ...], Field(strict=False)] = Field(
        default=(), description="done to the noisy values; the unbiased ones stay beside them"
    )


@final
class LedgerPlace(_Part):
    """Where the books are kept."""

    at: Text = Field(
        description='"sqlite:FILE" or "postgresql:service=NAME"; without it, a .ledger file beside the policy'
    )


@final
class Document(_Part):
    """The policy of a data set."""

    dataset: Dataset
    unit: Unit
    budget: Budget
    tables: Annotated[Mapping[str, TableRules], Field(min_length=1)]
    answers: Answers = Field(default_factory=Answers)
    ledger: LedgerPlace | None = None


_SECTIONS: dict[str, type[BaseModel]] = {
    "dataset": Dataset,
    "unit": Unit,
    "budget": Budget,
    "answers": Answers,
    "ledger": LedgerPlace,
}


def part_at(path: tuple[str | int, ...]) -> type[BaseModel] | None:
    """The model that a path of the file leads to."""
    match path:
        case ():
            return Document
        case ("dataset" | "unit" | "budget" | "answers" | "ledger" as name,):
            return _SECTIONS[name]
        case ("tables", _):
            return TableRules
        case ("tables", _, "columns", _):
            return ColumnRules
        case _:
            return None


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a policy file, as editors want it: optional keys are absent, never null."""
    schema: dict[str, Any] = _without_null(Document.model_json_schema())
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "sfumato policy"}


def _without_null(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_null(each) for each in node]
    if not isinstance(node, dict):
        return node
    if node.get("default", 0) is None:
        node = {key: value for key, value in node.items() if key != "default"}
    choices = node.get("anyOf", [])
    if {"type": "null"} in choices:
        rest = [each for each in choices if each != {"type": "null"}]
        others = {key: value for key, value in node.items() if key != "anyOf"}
        node = {**others, **(rest[0] if len(rest) == 1 else {"anyOf": rest})}
    return {key: _without_null(value) for key, value in node.items()}
