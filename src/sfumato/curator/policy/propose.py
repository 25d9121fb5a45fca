"""A first policy, from the names and types of columns and from what its owner said; hidden by default."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from typing import Literal, final

from sfumato.core import BadInput, BadPolicy
from sfumato.core.exact import decimal_text
from sfumato.curator.policy.columns import Found
from sfumato.curator.policy.policy import Policy
from sfumato.queries.schema import Column, Kind

_IDENTIFYING = re.compile(
    r"(^|.*[_\s.-])(id|uuid|guid|name|names|nom|noms|prenom|surname|firstname|lastname|email|mail|phone|telephone|tel|"
    r"mobile|address|adresse|street|rue|ssn|nir|nss|iban|passport|licence|password|token|zip|zipcode|postcode|"
    r"code_postal|cp|latitude|longitude|lat|lon|ip)$"
)
_TOML_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?")
_BARE = re.compile(r"[A-Za-z0-9_-]+")

Lang = Literal["en", "fr"]

_SAID: dict[str, dict[Lang, str]] = {
    "head": {
        "en": "What may be asked, who is protected, and how much may be spent. A column that is not named here is hidden.",
        "fr": "Ce qui peut être demandé, qui est protégé, combien peut être dépensé. Une colonne non nommée est cachée.",
    },
    "id": {
        "en": "random; the budget belongs to it, so it never changes",
        "fr": "aléatoire ; le budget lui appartient, il ne change donc jamais",
    },
    "version": {
        "en": "`sfumato version NAME` when the rows change",
        "fr": "`sfumato version NOM` quand les lignes changent",
    },
    "size": {
        "en": "how many rows, roughly and publicly",
        "fr": "nombre de lignes, approximatif et public",
    },
    "budget": {
        "en": "the most that all answers together may ever cost",
        "fr": "le plus que toutes les réponses ensemble pourront coûter",
    },
    "range": {
        "en": "public bounds, not taken from the rows: needed for sums and averages",
        "fr": "bornes publiques, non tirées des lignes : requises pour sommes et moyennes",
    },
    "grain": {
        "en": "kept to multiples of this; finer costs no epsilon",
        "fr": "gardé en multiples de ceci ; plus fin ne coûte pas d'epsilon",
    },
    "days": {
        "en": "public bounds, not taken from the rows: makes years and months public keys",
        "fr": "bornes publiques, non tirées des lignes : années et mois deviennent des clés publiques",
    },
    "hidden": {
        "en": "is hidden. To open it, list its values from public knowledge, or say that they are private:",
        "fr": "est cachée. Pour l'ouvrir, énumérer ses valeurs connues de tous, ou les dire privées :",
    },
    "identifying": {
        "en": "is hidden: its name says that it may point at someone. To open it all the same:",
        "fr": "est cachée : d'après son nom elle peut désigner quelqu'un. Pour l'ouvrir malgré tout :",
    },
    "unknown": {
        "en": "is hidden: it has a type that questions cannot read.",
        "fr": "est cachée : les questions ne savent pas lire son type.",
    },
}


@final
@dataclass(frozen=True, slots=True)
class Wishes:
    """What the owner says. Columns are named `column`, or `table.column` where several tables have it."""

    unit: Sequence[str] = ()
    kind: str = "person"
    neighbours: str = "add-remove"
    max_rows: int = 1
    values: Mapping[str, str] = field(default_factory=dict)
    ranges: Mapping[str, str] = field(default_factory=dict)
    public: Sequence[str] = ()
    epsilon: str = "3"
    delta: str = "1e-6"
    accountant: str = "pure"
    name: str | None = None
    id: str | None = None
    version: str = "1"
    size: int | None = None
    missing: Sequence[str] = ("",)
    ledger: str | None = None
    lang: Lang = "en"


def propose(tables: Sequence[Found], wishes: Wishes, *, folder: Path) -> str:
    """The text of a policy that loads; BadInput when what was said does not fit the tables."""
    _check_names(tables, wishes)
    text = "\n".join(_lines(tables, wishes)) + "\n"
    try:
        Policy.parse(text, folder=folder)
    except BadPolicy as error:
        raise BadInput(f"this would not make a policy: {error.message}", hint=error.hint, code=error.code) from None
    return text


def identifier() -> str:
    """A new data set's name for ever: random, so that no two share a budget."""
    from sfumato.noise.secret import secret_bytes

    return f"d-{secret_bytes(10).hex()}"


def unit_of(found: Found, wishes: Wishes) -> str | None:
    """What the owner said about whose rows these are: `column`, `table.column`, or `table=column -> other.column`."""
    for wish in wishes.unit:
        table, equals, rest = wish.partition("=")
        if equals and table.strip() == found.table:
            return rest.strip()
    for wish in wishes.unit:
        if "=" in wish:
            continue
        table, dot, column = wish.partition(".")
        if dot and table == found.table and column in found.columns:
            return column
        if wish in found.columns:
            return wish
    return None


def _lines(tables: Sequence[Found], wishes: Wishes) -> list[str]:
    said = {key: texts[wishes.lang] for key, texts in _SAID.items()}
    lines = [
        f"# {said['head']}",
        "",
        "[dataset]",
        f"name = {quoted(wishes.name or tables[0].table)}",
        f"id = {quoted(wishes.id or identifier())}  # {said['id']}",
        f"version = {quoted(wishes.version)}  # {said['version']}",
        f"size = {wishes.size}  # {said['size']}" if wishes.size else f"# size = 10_000  # {said['size']}",
        f"missing = [{', '.join(quoted(word) for word in wishes.missing)}]",
        "",
        "[unit]",
        f"kind = {quoted(wishes.kind)}",
        f"neighbours = {quoted(wishes.neighbours)}",
        f"max_rows = {wishes.max_rows}",
        "",
        f"[budget]  # {said['budget']}",
        f"epsilon = {_number(wishes.epsilon, 'the budget')}",
        f"delta = {_number(wishes.delta, 'delta')}",
        f"accountant = {quoted(wishes.accountant)}",
        *(("", "[ledger]", f"at = {quoted(wishes.ledger)}") if wishes.ledger is not None else ()),
    ]
    for found in tables:
        lines += _table(found, wishes, said)
    return lines


def _table(found: Found, wishes: Wishes, said: Mapping[str, str]) -> list[str]:
    lines = ["", f"[tables.{_key(found.table)}]", f"source = {quoted(found.source)}"]
    unit = unit_of(found, wishes)
    public = found.table in wishes.public
    if public:
        lines.append("public = true")
    elif unit is not None:
        lines.append(f"unit = {quoted(unit)}")
    for column, kind in found.columns.items():
        if column != unit or _wish(wishes.values, found, column) or _wish(wishes.ranges, found, column):
            lines += _column(found, column, kind, wishes, said)
    return lines


def _column(found: Found, column: str, kind: Kind | None, wishes: Wishes, said: Mapping[str, str]) -> list[str]:
    header = f"[tables.{_key(found.table)}.columns.{_key(column)}]"
    values, bounds = _wish(wishes.values, found, column), _wish(wishes.ranges, found, column)
    if bounds is not None:
        return ["", header, *_with_range(column, kind, bounds, values, said["grain"])]
    if values is not None:
        return ["", header, *_with_values(column, kind, values)]
    if kind is None:
        return ["", f"# {column} {said['unknown']}"]
    if kind == "text" or _IDENTIFYING.fullmatch(column.casefold()):
        why = said["hidden" if kind == "text" and not _IDENTIFYING.fullmatch(column.casefold()) else "identifying"]
        example = '# values = ["...", "..."]  # "private"' if kind == "text" else None
        shown = "category" if kind == "text" else kind
        opened = [f"# {header}", f"# type = {quoted(shown)}", *([example] if example else [])]
        return ["", f"# {column} {why}", *opened]
    lines = ["", header, f"type = {quoted(kind)}"]
    if kind in {"integer", "number"}:
        lines.append(f"# range = [0, 100]  # {said['range']}")
    if kind == "number":
        lines.append(f"# grain = 0.01  # {said['grain']}")
    if kind == "date":
        lines.append(f"# range = [2000-01-01, 2030-12-31]  # {said['days']}")
    return lines


def _with_range(column: str, kind: Kind | None, bounds: str, values: str | None, said: str) -> list[str]:
    low, comma, high = (part.strip() for part in bounds.partition(","))
    if kind not in {"integer", "number", "date"}:
        raise BadInput(f"{column} is a column of {kind or 'another kind'}, which has no range", hint="list its values")
    if not comma or not low or not high:
        raise BadInput(f"the range of {column} is not two bounds", hint=f"write --range {column}=0,99")
    edge = _day if kind == "date" else _number
    low, high = edge(low, column), edge(high, column)
    lines = [f"type = {quoted(kind)}", f"range = [{low}, {high}]"]
    if kind == "number":
        lines += _grain(column, low, high, said)
    return lines if values is None else [*lines, f"values = {_list(column, kind, values)}"]


def _grain(column: str, low: str, high: str, said: str) -> list[str]:
    """The grid that the column has anyway, written down: it decides what 3 means beside numbers kept in tens."""
    try:
        grain = Column(column, "number", (Fraction(low), Fraction(high))).grain
    except BadPolicy:
        return []  # the policy as a whole says what is wrong with this range
    return [] if grain is None else [f"grain = {decimal_text(grain)}  # {said}"]


def _with_values(column: str, kind: Kind | None, values: str) -> list[str]:
    if values == "private" or values.startswith("csv:"):
        return [f"type = {quoted('text' if kind in {None, 'text'} else str(kind))}", f"values = {quoted(values)}"]
    if kind == "boolean":
        return ['type = "boolean"']
    if kind in {"integer", "number", "date"}:
        try:
            return [f"type = {quoted(str(kind))}", f"values = {_list(column, kind, values)}"]
        except BadInput:
            pass  # codes that look like numbers in the rows and have other spellings: a category
    return ['type = "category"', f"values = {_list(column, None, values)}"]


def _list(column: str, kind: Kind | None, values: str) -> str:
    items = [item.strip() for item in next(csv.reader([values], skipinitialspace=True), [])]
    if not items or not all(items):
        raise BadInput(f"the values of {column} are not a list", hint=f"write --values {column}=F,M")
    match kind:
        case "integer" | "number":
            return f"[{', '.join(_number(item, column) for item in items)}]"
        case "date":
            return f"[{', '.join(_day(item, column) for item in items)}]"
        case _:
            return f"[{', '.join(quoted(item) for item in items)}]"


def _number(text: str, name: str) -> str:
    """As TOML writes numbers: what is written that way already stays as it is."""
    if _TOML_NUMBER.fullmatch(text):
        return text
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal("nan")
    if not value.is_finite():
        raise BadInput(f"{name} was given something that is not a number", hint="write 3, 0.5 or 1e-6")
    return format(value, "f") if value else "0"


def _day(text: str, name: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise BadInput(f"{name} was given something that is not a date", hint="write 2026-11-30") from None


def _wish(wishes: Mapping[str, str], found: Found, column: str) -> str | None:
    return wishes.get(f"{found.table}.{column}", wishes.get(column))


def _check_names(tables: Sequence[Found], wishes: Wishes) -> None:
    names = [found.table for found in tables]
    if len({name.casefold() for name in names}) != len(names):
        raise BadInput("two of these files would make tables of one name", hint="rename one of them")
    columns = {column for found in tables for column in found.columns}
    known = columns | {f"{found.table}.{column}" for found in tables for column in found.columns}
    units = [wish for wish in wishes.unit if "=" not in wish]
    for name in (*units, *wishes.values, *wishes.ranges):
        if name not in known:
            near = get_close_matches(name, sorted(known), n=1)
            meant = f"did you mean {near[0]}?" if near else f"the columns are {', '.join(sorted(columns))}"
            raise BadInput(f"no table has a column {name}", hint=meant)
    for name in (*wishes.public, *(wish.partition("=")[0].strip() for wish in wishes.unit if "=" in wish)):
        if name not in names:
            raise BadInput(f"there is no table {name}", hint=f"the tables are {', '.join(names)}")
    for found in tables:
        if unit_of(found, wishes) is None and wishes.kind != "row" and found.table not in wishes.public:
            raise BadInput(
                f"nothing says whose the rows of {found.table} are",
                hint=f"write --unit COLUMN; it has {', '.join(found.columns)}; or --unit '{found.table}=KEY -> TABLE.KEY', "
                f"or --public {found.table} if everyone may read it",
            )


def quoted(text: str) -> str:
    """A TOML string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda found: f"\\u{ord(found.group()):04x}", escaped) + '"'


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else quoted(name)
