"""A policy is read exactly or refused with its place; what it means reaches the schema, the caps and the digest."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.accounting.zcdp import Zcdp
from sfumato.core import BadInput, BadPolicy, Relation
from sfumato.curator.ledger.records import Charge
from sfumato.curator.policy import Policy
from sfumato.curator.policy.document import Document, json_schema
from sfumato.queries.schema import Step

ADULT = """\
[dataset]
name = "adult"
id = "d-7f3k"
version = "2026-11"
size = 50_000
missing = ["", "?", "NA"]
contact = "dpo@example.org"

[unit]
kind = "person"
neighbours = "add-remove"
max_rows = 1
max_groups = 5

[budget]
epsilon = 3.0
delta = 1e-6
accountant = "pure"
per_analyst = { default = 1.0, ana = 1.5 }

[tables.adult]
source = "parquet:adult.parquet"
unit = "person_id"

[tables.adult.columns.age]
type = "integer"
range = [17, 90]
why = "limits of the questionnaire"

[tables.adult.columns.education]
type = "category"
values = ["Preschool", "Bachelors", "Doctorate"]
ordered = true
null = "group"

[tables.adult.columns.zip]
type = "text"
values = "private"

[tables.adult.columns.capital]
type = "number"
range = [0, 99.5]
grain = 0.5

[answers]
confidence = 0.95
post_process = ["nonnegative"]
"""

HOSPITAL = """\
[dataset]
name = "hospital"
id = "d-1"
version = "1"

[unit]
kind = "person"
max_rows = 10

[budget]
epsilon = 1

[tables.stays]
source = "parquet:stays/*.parquet"
unit = "patient_id"

[tables.stays.columns.admitted]
type = "date"
range = [2020-01-01, 2030-12-31]

[tables.diagnoses]
source = "duckdb:clinic.db:dx"
unit = "stay_id -> stays.stay_id"

[tables.diagnoses.columns.icd10]
values = "csv:icd10.csv:code"
levels = ["chapter", "code"]

[tables.communes]
source = "csv:communes.csv"
public = true
unique = ["code"]
"""
ICD10 = "chapter,code,label\nA,A00,cholera\nA,A01,typhoid\nB,B05,measles\n"


def adult(text: str = ADULT) -> Policy:
    return Policy.parse(text, folder=Path("/data"))


def hospital(folder: Path, text: str = HOSPITAL) -> Policy:
    (folder / "icd10.csv").write_text(ICD10)
    (folder / "policy.toml").write_text(text)
    return Policy.load(folder / "policy.toml")


def test_what_is_declared_reaches_the_schema() -> None:
    schema = adult().schema()
    (table,) = schema.tables
    assert (table.name, table.unit, table.public, table.size) == ("adult", "person_id", False, 50_000)
    age, education, code, capital = table.columns
    assert age.type == "integer"
    assert age.range == (Fraction(17), Fraction(90))
    assert education.values == ("Preschool", "Bachelors", "Doctorate")
    assert education.ordered
    assert education.null == "group"
    assert (code.type, code.values, code.null) == ("text", "private", "drop")
    assert capital.range == (Fraction(0), Fraction(199, 2))
    assert capital.grain == Fraction(1, 2)
    assert schema.unit.neighbours is Relation.ADD_REMOVE
    assert (schema.unit.kind, schema.unit.max_rows, schema.unit.max_groups) == ("person", 1, 5)


def test_numbers_are_the_decimals_that_were_written() -> None:
    policy = adult(ADULT.replace("epsilon = 3.0", "epsilon = 0.3").replace("ana = 1.5", "ana = 0.1"))
    caps = policy.caps()
    assert caps.total == Charge(Fraction(3, 10), Fraction(1, 10**6))
    assert caps.of("ana") == Charge(Fraction(1, 10), Fraction(1, 10**6))
    assert caps.of("somebody") == Charge(Fraction(1), Fraction(1, 10**6))
    assert caps.about == {"unit": "person", "neighbours": "add-remove", "table adult": "person_id"}


def test_the_caps_under_zcdp_keep_the_promise() -> None:
    policy = adult(ADULT.replace('"pure"', '"zcdp"'))
    total, default = policy.caps().total, policy.caps().of("somebody")
    for cap, epsilon in ((total, 3), (default, 1)):
        assert cap.failure == Fraction(1, 2 * 10**6)
        assert Zcdp(cap.amount, cap.failure).delta(epsilon) <= 1e-6
        assert Zcdp(cap.amount * Fraction(101, 100), cap.failure).delta(epsilon) > 1e-6


def test_a_hospital(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    schema = policy.schema()
    assert [table.name for table in schema.tables] == ["stays", "diagnoses", "communes"]
    stays, diagnoses, communes = schema.tables
    assert (diagnoses.unit, diagnoses.path) == ("patient_id", (Step("stay_id", "stays", "stay_id"),))
    assert communes.unique == ("code",)
    assert stays.columns[0].range == (date(2020, 1, 1), date(2030, 12, 31))
    assert (communes.public, communes.unit) == (True, None)
    listed = policy.lists["diagnoses", "icd10"]
    assert listed.keys == ("A00", "A01", "B05")
    assert listed.levels == (("A",), ("A",), ("B",))
    assert policy.location("stays") == f"parquet:{tmp_path}/stays/*.parquet"
    assert policy.location("diagnoses") == f"duckdb:{tmp_path}/clinic.db:dx"
    assert policy.caps().about["table diagnoses"] == "stay_id -> stays.stay_id"


def test_a_linked_table_never_stands_without_its_unit(tmp_path: Path) -> None:
    """A private table with no unit would protect each of its rows by itself."""
    for table in hospital(tmp_path).schema().tables:
        assert table.public or table.unit is not None


def test_sources_say_types_unit_and_missing_words() -> None:
    (source,) = adult().sources().values()
    assert source.location == "parquet:/data/adult.parquet"
    assert (source.unit, source.missing) == ("person_id", ("", "?", "NA"))
    assert source.columns == {"age": "integer", "education": "category", "zip": "text", "capital": "number"}
    (given_,) = adult().sources({"adult": [1]}).values()
    assert (given_.location, given_.data) == (None, [1])
    with pytest.raises(BadInput, match="no table adults"):
        adult().sources({"adults": [1]})


@pytest.mark.parametrize(
    ("at", "place"),
    [
        ("", "sqlite:/data/policy.ledger"),
        ('\n[ledger]\nat = "sqlite:books/a.ledger"\n', "sqlite:/data/books/a.ledger"),
        ('\n[ledger]\nat = "postgresql:service=books"\n', "postgresql:service=books"),
    ],
)
def test_where_the_ledger_is(at: str, place: str) -> None:
    assert adult(ADULT + at).ledger_place == place


def test_a_ledgers_place_holds_no_password() -> None:
    with pytest.raises(BadPolicy, match="holds a password"):
        adult(ADULT + '\n[ledger]\nat = "postgresql://me:secret@host/books"\n')


# What is wrong, and where. Each row edits one thing of a good policy; `^` marks the place in the line it is found at.

BROKEN: list[tuple[str, str, str, str, str]] = [
    ("max_rows = 1\n", "max_rwos = 1\n", "^max_rwos = 1", "", "did you mean max_rows?"),
    ("range = [17, 90]", "rang = [17, 90]", "^rang = [17, 90]", "", "did you mean range?"),
    ("[answers]", "[anwsers]", "[^anwsers]", "", "did you mean answers?"),
    ("epsilon = 3.0\n", "", "[^budget]", "", "epsilon is missing in [budget]"),
    ("epsilon = 3.0", 'epsilon = "3"', 'epsilon = ^"3"', "", "must be a number"),
    ("epsilon = 3.0", "epsilon = inf", "epsilon = ^inf", "", "finite"),
    ("epsilon = 3.0", "epsilon = 1e9999", "epsilon = ^1e9999", "", "digits"),
    ("epsilon = 3.0", "epsilon = 1e-9999", "epsilon = ^1e-9999", "", "digits"),
    ("epsilon = 3.0", "epsilon = 0", "epsilon = ^0", "", "above 0"),
    ("epsilon = 3.0", "epsilon = true", "epsilon = ^true", "", "must be a number"),
    ("delta = 1e-6", "delta = 0.001", "delta = ^0.001", "SF007", "50,000"),
    ("delta = 1e-6", "delta = -1e-6", "delta = ^-1e-6", "", "negative"),
    ('kind = "person"', 'kind = "persn"', 'kind = ^"persn"', "", "'household'"),
    ("max_rows = 1", "max_rows = 0", "max_rows = ^0", "", "1 or more"),
    ("max_rows = 1", "max_rows = 1.5", "max_rows = ^1.5", "", "whole number"),
    ("range = [17, 90]", "range = [90, 17]", "range = ^[90, 17]", "", "ends before"),
    ("range = [17, 90]", "range = [17]", "range = ^[17]", "", "two bounds"),
    ("range = [17, 90]", 'range = ["a", "b"]', 'range = ^["a", "b"]', "", "number"),
    ("range = [17, 90]", "range = [17.5, 90]", "range = ^[17.5, 90]", "", "grain"),
    (
        "range = [17, 90]",
        "range = [2020-01-01, 2021-01-01]",
        "range = ^[2020-01-01, 2021-01-01]",
        "",
        "of type integer",
    ),
    ('type = "category"', 'type = "categry"', 'type = ^"categry"', "", "'category'"),
    ('"Bachelors"', "7", 'values = ^["Preschool", 7, "Doctorate"]', "", "another type"),
    ('"Bachelors"', '"Doctorate"', 'values = ^["Preschool", "Doctorate", "Doctorate"]', "", "twice"),
    ('"Bachelors"', "{}", 'values = ^["Preschool", {}, "Doctorate"]', "", "must be text"),
    ('values = "private"', 'values = "secret"', 'values = ^"secret"', "", "neither a list nor a place"),
    ('values = "private"', "values = []", "values = ^[]", "", "no key"),
    ('values = "private"', 'values = "csv:nowhere.csv:code"', 'values = ^"csv:nowhere.csv:code"', "", "cannot be read"),
    ('values = "private"', "ordered = true", "ordered = ^true", "", "no list"),
    ("grain = 0.5", "grain = 0.7", "grain = ^0.7", "", "grain"),
    ('type = "integer"', 'type = "integer"\ngrain = 1', "grain = ^1", "", "only numbers"),
    ('type = "text"\n', "", "zip", "", ""),
    ('unit = "person_id"\n', "", "[tables.^adult]", "", "whose the rows"),
    ('unit = "person_id"', 'unit = "person_id"\npublic = true', '^unit = "person_id"', "", "cannot be both"),
    ('unit = "person_id"', 'unit = "stay_id -> stays.stay_id"', 'unit = ^"stay_id -> stays.stay_id"', "", "no table"),
    ('unit = "person_id"', 'unit = "a -> adult.a"', 'unit = ^"a -> adult.a"', "", "circle"),
    ('unit = "person_id"', 'unit = "a -> b"', 'unit = ^"a -> b"', "", "not a link"),
    ('"parquet:', '"arquet:', 'source = ^"arquet:adult.parquet"', "", "a kind, a colon and a place"),
    ('"parquet:adult.parquet"', '"postgresql://ana:hunter2@db/x"', 'source = ^"postg', "", "password"),
    ('"parquet:adult.parquet"', '"postgresql:host=db password=hunter2"', 'source = ^"postg', "", "password"),
    ('"parquet:adult.parquet"', '"csv:https://example.org/a.csv"', 'source = ^"csv:http', "", "network"),
    ("ana = 1.5", "ana = -1.5", "default = 1.0, ana = ^-1.5", "", "negative"),
    ("ana = 1.5", '"*" = 1.5', 'default = 1.0, ^"*"', "", "nobody"),
    ("confidence = 0.95", "confidence = 95", "confidence = ^95", "", "between 0 and 1"),
    ('["nonnegative"]', '["negative"]', 'post_process = [^"negative"]', "", "nonnegative"),
    ('id = "d-7f3k"', 'id = "../../x"', 'id = ^"../../x"', "", "letters, digits"),
    ('version = "2026-11"', "version = 2026", "version = ^2026", "", "in quotes"),
    ('name = "adult"', 'name = "adult', 'name = "adult^', "", "not TOML"),
    ("[unit]", "[dataset]", "[dataset^]", "", "not TOML"),
    ("[tables.adult.columns.capital]", "[tables.adult.columns.AGE]", "[tables.adult.columns.^AGE]", "", "capitals"),
    ("max_groups = 5", 'max_groups = 5\n[ledger]\nat = "mysql:x"', 'at = ^"mysql:x"', "", "sqlite"),
]


@pytest.mark.parametrize(("old", "new", "where", "code", "says"), BROKEN, ids=[row[1][:40] for row in BROKEN])
def test_what_is_wrong_is_said_with_its_place(old: str, new: str, where: str, code: str, says: str) -> None:
    assert ADULT.count(old) >= 1
    text = ADULT.replace(old, new, 1)
    if where == "zip":  # without a type, private keys are text: nothing is wrong
        assert adult(text).schema().tables[0].columns[2].type == "text"
        return
    with pytest.raises(BadPolicy) as caught:
        adult(text)
    error = caught.value
    assert says in str(error)
    assert (error.code or "") == code
    assert error.hint
    assert error.line is not None
    assert error.column is not None
    before, _, after = where.partition("^")
    line = text.splitlines()[error.line - 1]
    assert line[: error.column - 1].endswith(before), (line, error.column)
    assert line[error.column - 1 :].startswith(after)
    assert f"line {error.line}, column {error.column}: " in str(error)
    assert "hunter2" not in str(error)


def test_everything_that_is_wrong_is_listed_in_order() -> None:
    text = ADULT.replace("[17, 90]", '["x", 3]').replace("= 1e-6", '= "x"').replace("max_rows", "max_row")
    policy, wrong = Policy.examine(text, folder=Path("/data"))
    assert policy is None
    assert [error.line for error in wrong] == sorted(error.line or 0 for error in wrong)
    assert len(wrong) == 3


@pytest.mark.parametrize(
    ("content", "levels", "says"),
    [
        ("chapter,code\n", '["chapter", "code"]', "no key"),
        ("chapter\nA\n", '["chapter", "code"]', "needs the column code"),
        (ICD10, '["block", "code"]', "needs the column block"),
        (ICD10, '["code", "chapter"]', "the finest level"),
        (ICD10 + "B,A00,twice\n", '["chapter", "code"]', "two different levels"),
    ],
)
def test_a_public_list_must_hold_together(tmp_path: Path, content: str, levels: str, says: str) -> None:
    (tmp_path / "icd10.csv").write_text(content)
    text = HOSPITAL.replace('["chapter", "code"]', levels)
    with pytest.raises(BadPolicy, match=says) as caught:
        Policy.parse(text, folder=tmp_path)
    assert text.splitlines()[(caught.value.line or 0) - 1].startswith(("values", "levels"))


def test_a_policy_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    with pytest.raises(BadPolicy, match="no policy at"):
        Policy.load(tmp_path / "policy.toml")
    (tmp_path / "policy.toml").write_bytes(b"[dataset]\nname = '\xff'\n")
    with pytest.raises(BadPolicy, match="UTF-8") as caught:
        Policy.load(tmp_path / "policy.toml")
    assert caught.value.line == 2


WARNED: list[tuple[Callable[[str], str], str | None, str]] = [
    (lambda t: t.replace("epsilon = 3.0", "epsilon = 10.5"), "SF016", "more than 99.99 %"),
    (lambda t: t.replace('kind = "person"', 'kind = "row"'), "SF006", "each row"),
    (lambda t: t.replace("ana = 1.5", "ana = 4"), None, "the total always wins"),
    (lambda t: t.replace("max_groups = 5\n", ""), None, "max_groups"),
    (lambda t: t.replace("delta = 1e-6\n", ""), None, "paid for with delta"),
]


@pytest.mark.parametrize(("edit", "code", "says"), WARNED)
def test_what_is_allowed_and_worth_a_warning(edit: Callable[[str], str], code: str | None, says: str) -> None:
    (warning,) = adult(edit(ADULT)).warnings
    assert warning.code == code
    assert says in str(warning)
    assert warning.line is not None


def test_a_good_policy_has_no_warning() -> None:
    assert adult().warnings == ()


SAME = [
    (ADULT, ADULT.replace("why =", "# said before\nwhy =").replace("limits of", "ends of")),
    (ADULT, ADULT.replace('name = "adult"', 'name = "census"').replace("dpo@", "office@")),
    (ADULT, ADULT.replace("epsilon = 3.0", "epsilon = 3")),
    (ADULT, ADULT.replace("delta = 1e-6", "delta = 0.000001")),
    (ADULT, ADULT.replace('neighbours = "add-remove"\n', "").replace('accountant = "pure"\n', "")),
    (ADULT, ADULT + '\n[ledger]\nat = "sqlite:elsewhere"\n'),
]
OTHER = [
    ADULT.replace(old, new, 1)
    for old, new in [
        ("d-7f3k", "d-7f3l"),
        ("2026-11", "2026-12"),
        ('"?", ', ""),
        ("50_000", "60_000"),
        ('"person"', '"household"'),
        ("add-remove", "replace"),
        ("max_rows = 1", "max_rows = 2"),
        ("max_groups = 5", "max_groups = 6"),
        ("epsilon = 3.0", "epsilon = 3.1"),
        ("1e-6", "1e-7"),
        ('"pure"', '"zcdp"'),
        ("ana = 1.5", "bob = 1.5"),
        ("person_id", "household_id"),
        ("adult.parquet", "old.parquet"),
        ("[17, 90]", "[17, 91]"),
        ('"integer"', '"number"'),
        ('"Bachelors", ', ""),
        ('"Preschool", "Bachelors"', '"Bachelors", "Preschool"'),
        ("ordered = true", "ordered = false"),
        ('null = "group"', 'null = "refuse"'),
        ('values = "private"', 'values = ["75"]'),
        ("grain = 0.5", "grain = 0.25"),
        ("0.95", "0.9"),
        ('["nonnegative"]', "[]"),
    ]
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_digest_forgets_what_does_not_matter(one: str, other: str) -> None:
    assert one != other
    assert adult(one).digest == adult(other).digest


def test_the_digest_knows_everything_that_matters() -> None:
    texts = [ADULT, *OTHER]
    assert len(set(texts)) == len(texts)
    assert len({adult(text).digest for text in texts}) == len(texts)


def test_the_digest_covers_public_lists(tmp_path: Path) -> None:
    before = hospital(tmp_path).digest
    (tmp_path / "icd10.csv").write_text(ICD10.replace("B05", "B06"))
    assert Policy.load(tmp_path / "policy.toml").digest != before
    (tmp_path / "icd10.csv").write_text(ICD10.replace("measles", "rubeola"))
    assert Policy.load(tmp_path / "policy.toml").digest == before


def as_json(value: Any) -> Any:
    match value:
        case dict():
            return {key: as_json(item) for key, item in value.items()}
        case list():
            return [as_json(item) for item in value]
        case date():
            return value.isoformat()
        case Decimal():
            return float(value)
        case _:
            return value


def test_the_schema_that_is_published_accepts_what_is_accepted() -> None:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for text in (ADULT, HOSPITAL, *OTHER):
        validator.validate(as_json(tomllib.loads(text)))
    assert json.loads(json.dumps(schema)) == schema


def test_the_schema_that_is_published_refuses_unknown_keys_and_wrong_shapes() -> None:
    validator = jsonschema.Draft202012Validator(json_schema())
    shape = ("did you mean", "is missing", "must be", "'household'", "'category'", "two bounds", "neither a list")
    for old, new, _, _, says in BROKEN:
        text = ADULT.replace(old, new, 1)
        try:
            raw = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            continue
        if any(word in says for word in shape) and new not in {"epsilon = inf", "max_rows = 1.5"}:
            assert not validator.is_valid(as_json(raw)), new


def test_the_published_file_is_the_model() -> None:
    published = Path(__file__).parents[2] / "docs" / "policy.schema.json"
    assert json.loads(published.read_text()) == json_schema()


def test_reading_a_policy_stays_light(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(ADULT.replace('"pure"', '"zcdp"'))
    heavy = ("numpy", "scipy", "dp_accounting", "duckdb", "sqlglot", "pyarrow", "click")
    code = (
        f"from sfumato.curator.policy import Policy; p = Policy.load({str(tmp_path / 'policy.toml')!r}); "
        f"p.caps(), p.schema(), p.digest; import sys; print([n for n in {heavy!r} if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_key_is_explained() -> None:
    def parts(model: Any) -> Any:
        for name, field in model.model_fields.items():
            inner = field.annotation
            yield model.__name__, name, field.description, inner

    from sfumato.curator.policy import document

    for model in (document.Dataset, document.Unit, document.Budget, document.ColumnRules, document.Answers):
        for owner, name, description, _ in parts(model):
            assert description, f"{owner}.{name}"
    assert Document.__doc__


@settings(max_examples=150)
@given(st.data())
def test_no_text_makes_a_traceback(data: st.DataObject) -> None:
    text = ADULT
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 12))
        new = data.draw(
            st.sampled_from(["", '"', "]", "[", "\n", "=", "1", "-", ".", "{", "'", "#", "private", "1e999"])
        )
        text = text[:start] + new + text[start + length :]
    policy, wrong = Policy.examine(text, folder=Path("/data"))
    assert (policy is None) == bool(wrong)
    lines = text.split("\n")
    for error in wrong:
        assert error.line is not None
        assert 1 <= error.line <= len(lines)
        assert error.column is not None
        assert 1 <= error.column <= len(lines[error.line - 1]) + 1
    if policy is not None:
        policy.schema(), policy.caps(), policy.digest
