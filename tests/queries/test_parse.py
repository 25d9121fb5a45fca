"""What is refused, with which code and at which place; what is understood, as which plan."""

from __future__ import annotations

import re
from datetime import date
from fractions import Fraction

import pytest

from sfumato.core import NotSupported
from sfumato.queries.bounded import bound
from sfumato.queries.expression import Field, Measure
from sfumato.queries.plan import Aggregate, Having, Limit, Sort, aggregate_of, canonical
from sfumato.queries.schema import Column, Schema, Table, Unit
from sfumato.queries.sql.parse import parse

SCHEMA = Schema(
    (
        Table(
            "adult",
            (
                Column("sex", "category", values=("F", "M"), null="group"),
                Column("age", "integer", range=(Fraction(0), Fraction(100))),
                Column("hours", "number", range=(Fraction(0), Fraction(99))),
                Column("zip", "text", values="private"),
                Column("note", "text"),
                Column("income", "integer"),
                Column("weight", "number"),
                Column("born", "date", range=(date(2000, 1, 1), date(2001, 12, 31))),
                Column("strict", "integer", range=(Fraction(0), Fraction(9)), null="refuse"),
                Column("Mixed Case", "integer", range=(Fraction(0), Fraction(9))),
                Column("ill", "boolean"),
            ),
            unit="person_id",
        ),
        Table("communes", (Column("code", "text"),), public=True),
    ),
    Unit(max_rows=2),
)

REFUSED = [
    ("SELECT * FROM adult", "SF001", 1, 8),
    ("SELECT a.* FROM adult a", "SF001", 1, 8),
    ("SELECT age FROM adult", "SF001", 1, 8),
    ("SELECT age, COUNT(*) FROM adult", "SF001", 1, 8),
    ("SELECT age + 1, COUNT(*) FROM adult GROUP BY age // 2", "SF001", 1, 8),
    ("SELECT sex, COUNT(*) FROM adult GROUP BY sex ORDER BY age", "SF001", 1, 55),
    ("SELECT COUNT(*) FROM adult HAVING age > 3", "SF001", 1, 35),
    ("SELECT 1 FROM adult", "SF001", 1, 8),
    ("SELECT sex FROM adult GROUP BY sex", "SF021", 1, 8),
    ("SELECT SUM(income) FROM adult", "SF002", 1, 8),
    ("SELECT AVG(income + 1) FROM adult", "SF002", 1, 12),
    ("SELECT AVG(weight) FROM adult", "SF002", 1, 8),
    ("SELECT COUNT(*) FROM adult WHERE weight > 1", "SF002", 1, 34),
    ("SELECT SUM(age * age * age * age * age * age * age * age * age * age) FROM adult", "SF002", 1, 12),
    ("SELECT note, COUNT(*) FROM adult GROUP BY note", "SF005", 1, 43),
    ("SELECT note, COUNT(*) FROM adult\nGROUP BY note", "SF005", 2, 10),
    ("SELECT income, COUNT(*) FROM adult GROUP BY income", "SF005", 1, 45),
    ("SELECT MAX(age) FROM adult", "SF011", 1, 12),
    ("SELECT sex, MIN(hours) FROM adult GROUP BY sex", "SF011", 1, 17),
    ("SELECT COUNT(*)\nFROM adult\nWHERE secret = 1", "SF022", 3, 7),
    ("SELECT COUNT(*) FROM other", "SF022", 1, 22),
    ("SELECT COUNT(*) FROM adult WHERE person_id = 'x'", "SF022", 1, 34),
    ("SELECT SUM(person_id) FROM adult", "SF022", 1, 12),
    ("SELECT person_id, COUNT(*) FROM adult GROUP BY person_id", "SF022", 1, 48),
    ("SELECT AVG(strict) FROM adult", "SF021", 1, 8),
    ("SELECT strict, COUNT(*) FROM adult GROUP BY strict", "SF021", 1, 45),
    ("SELECT COUNT(DISTINCT (age, sex)) FROM adult", "SF021", 1, 24),
    ("SELECT COUNT(DISTINCT person_id) FILTER (WHERE ill) FROM adult", "SF021", 1, 23),
    ("SELECT COUNT(DISTINCT secret) FROM adult", "SF022", 1, 23),
    ("SELECT SUM(DISTINCT age) FROM adult", "SF021", 1, 21),
    ("SELECT MEDIAN(sex) FROM adult", "SF002", 1, 8),
    ("SELECT QUANTILE(age) FROM adult", "SF021", 1, 17),
    ("SELECT QUANTILE(age, 1.5) FROM adult", "SF021", 1, 17),
    ("SELECT QUANTILE(age, -0.1, 0.5) FROM adult", "SF021", 1, 17),
    ("SELECT QUANTILE(age, 0.5, 0.5) FROM adult", "SF021", 1, 17),
    ("SELECT QUANTILE(age, 0.9, 0.1) FROM adult", "SF021", 1, 17),
    ("SELECT QUANTILE(age, [0.9, 0.1]) FROM adult", "SF021", 1, 17),
    ("SELECT QUANTILE(age, 0.123456789) FROM adult", "SF021", 1, 17),
    ("SELECT QUANTILE(age, 'half') FROM adult", "SF021", 1, 22),
    ("SELECT QUANTILE(age, hours) FROM adult", "SF021", 1, 22),
    ("SELECT QUANTILE(age, 0.1, 0.5) + 1 FROM adult", "SF021", 1, 17),
    ("SELECT sex, QUANTILE(age, 0.1, 0.5) FROM adult GROUP BY sex ORDER BY 2", "SF021", 1, 70),
    ("SELECT sex, COUNT(*) FROM adult GROUP BY sex HAVING QUANTILE(age, 0.1, 0.5) IS NULL", "SF021", 1, 62),
    ("SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age) FROM adult", "SF021", 1, 8),
    ("SELECT COUNT(*) OVER () FROM adult", "SF021", 1, 8),
    ("SELECT ROW_NUMBER() OVER (ORDER BY age) FROM adult", "SF021", 1, 8),
    ("SELECT DISTINCT sex FROM adult", "SF021", 1, 17),
    ("SELECT COUNT(*) FROM adult QUALIFY 1 = 1", "SF021", 1, 36),
    ("SELECT COUNT(*) FROM adult TABLESAMPLE 10 PERCENT", "SF021", 1, 40),
    ("SELECT COUNT(*) FROM adult WHERE random() < 0.5", "SF021", 1, 34),
    ("SELECT COUNT(*) FROM adult WHERE born < now()", "SF021", 1, 41),
    ("SELECT COUNT(*) FROM adult WHERE born < CURRENT_DATE", "SF021", 1, 41),
    ("SELECT COUNT(*) FROM adult, adult AS b", "SF010", 1, 29),
    ("SELECT COUNT(*) FROM adult JOIN communes ON zip = code", "SF010", 1, 33),
    ("SELECT COUNT(*) FROM communes", "SF021", 1, 22),
    ("SELECT COUNT(*) FROM adult WHERE age IN (SELECT age FROM adult)", "SF021", 1, 49),
    ("SELECT COUNT(*) FROM adult WHERE EXISTS (SELECT 1 FROM adult)", "SF021", 1, 34),
    ("SELECT (SELECT COUNT(*) FROM adult) FROM adult", "SF021", 1, 16),
    ("SELECT COUNT(*) FROM adult UNION ALL SELECT COUNT(*) FROM adult", "SF021", 1, 8),
    ("SELECT sex, COUNT(*) FROM adult GROUP BY CUBE(sex)", "SF021", 1, 47),
    ("SELECT sex, COUNT(*) FROM adult GROUP BY ALL", "SF021", 1, 8),
    ("SELECT COUNT(*) FROM (SELECT age FROM adult LIMIT 3) AS t", "SF021", 1, 51),
    ("SELECT COUNT(*) FROM (SELECT DISTINCT age FROM adult) AS t", "SF021", 1, 39),
    ("SELECT COUNT(*) FROM (SELECT sex, COUNT(*) AS n FROM adult GROUP BY sex) AS t", "SF021", 1, 69),
    ("SELECT COUNT(*) FROM adult WHERE age = 'x'", "SF021", 1, 34),
    ("SELECT COUNT(*) FROM adult WHERE age", "SF021", 1, 34),
    ("SELECT COUNT(*) FROM adult WHERE born = 'soon'", "SF021", 1, 34),
    ("SELECT COUNT(*) FROM adult WHERE CAST(hours AS INTEGER) = 1", "SF021", 1, 39),
    ("SELECT COUNT(*) FROM adult WHERE TRY_CAST(note AS INTEGER) = 1", "SF021", 1, 34),
    ("SELECT COUNT(*) FROM adult WHERE note LIKE 'a\\%'", "SF021", 1, 34),
    ("SELECT COUNT(*) FROM adult WHERE note LIKE 'a' ESCAPE '!'", "SF021", 1, 34),
    ("SELECT COUNT(*) FROM adult WHERE note ~ 'a'", "SF021", 1, 34),
    ("SELECT AVG(5) FROM adult", "SF021", 1, 8),
    ("SELECT age / 0, COUNT(*) FROM adult GROUP BY age / 0", "SF021", 1, 46),
    ("SELECT COUNT(*) FROM adult LIMIT age", "SF021", 1, 34),
    ("SELECT COUNT(*) FROM adult GROUP BY 3", "SF021", 1, 37),
    ("SELECT COUNT(*) FROM adult ORDER BY 3", "SF021", 1, 37),
]


FUNCTIONS_IN_USE = {
    "CASE": "CASE WHEN {n} > 1 THEN 1 ELSE 2 END",
    "COALESCE": "COALESCE({n}, 1)",
    "NULLIF": "COALESCE(NULLIF({n}, 1), 0)",
    "LEAST": "LEAST({n}, 1)",
    "GREATEST": "GREATEST({n}, 1)",
    "CAST": "CAST({n} > 1 AS INTEGER)",
    "ABS": "ABS({n})",
    "FLOOR": "FLOOR({n})",
    "CEIL": "CEIL({n})",
    "ROUND": "ROUND({n})",
    "LOWER": "LENGTH(LOWER({t}))",
    "UPPER": "LENGTH(UPPER({t}))",
    "TRIM": "LENGTH(TRIM({t}))",
    "LENGTH": "LENGTH({t})",
    "SUBSTRING": "LENGTH(SUBSTRING({t}, 1, 2))",
    "LEFT": "LENGTH(LEFT({t}, 2))",
    "STARTS_WITH": "CAST(STARTS_WITH({t}, 'a') AS INTEGER)",
    "EXTRACT": "EXTRACT(year FROM {d})",
    "YEAR": "YEAR({d})",
    "QUARTER": "QUARTER({d})",
    "MONTH": "MONTH({d})",
    "DAY": "DAY({d})",
    "WEEK": "WEEK({d})",
    "DATE_TRUNC": "YEAR(DATE_TRUNC('month', {d}))",
}


def test_what_a_refusal_offers_is_understood() -> None:
    """Every function that the hint names, and no other, is asked here."""
    columns = (Column("n", "integer", (Fraction(0), Fraction(9))), Column("t", "text"), Column("d", "date"))
    schema = Schema((Table("t", columns, unit="u"),))
    with pytest.raises(NotSupported) as refused:
        parse("SELECT COUNT(*) FROM t WHERE gamma(n) > 1", schema)
    assert refused.value.hint == f"there are {', '.join(FUNCTIONS_IN_USE)}"
    for text in FUNCTIONS_IN_USE.values():
        parse(f"SELECT COUNT(*) FROM t WHERE {text.format(n='n', t='t', d='d')} > 0", schema)


@pytest.mark.parametrize(("text", "code", "line", "column"), REFUSED, ids=[text for text, *_ in REFUSED])
def test_refused_with_its_place(text: str, code: str, line: int, column: int) -> None:
    with pytest.raises(NotSupported) as caught:
        parse(text, SCHEMA)
    assert caught.value.code == code
    found = re.search(r"\(line (\d+), column (\d+): '(.*)'\)$", caught.value.message)
    assert found, caught.value.message
    assert (int(found[1]), int(found[2])) == (line, column), caught.value.message
    assert text.split("\n")[line - 1][column - 1 :].startswith(found[3].split("...")[0][:30])


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "  ",
            "DROP TABLE adult",
            "SELECT",
            "SELECT COUNT(* FROM adult",
            "UPDATE adult SET age = 1",
            "FROM adult",
            "PRAGMA x",
        ),
        *(
            "SELECT COUNT(*) FROM adult; SELECT COUNT(*) FROM adult",
            "SELECT 1",
            "COPY adult TO 'x'",
            "SELECT COUNT(*) FROM adult;;x",
        ),
        "EXPLAIN SELECT COUNT(*) FROM adult",
    ],
)
def test_refused_as_no_question(text: str) -> None:
    with pytest.raises(NotSupported, match="SF021"):
        parse(text, SCHEMA)


def same(one: str, other: str) -> bool:
    first, second = (bound(parse(text, SCHEMA), SCHEMA).key for text in (one, other))
    return first == second


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "SELECT sex, COUNT(*) FROM adult GROUP BY sex",
            "select SEX as s, count(*) as n from ADULT a group by a.sex -- hello",
        ),
        (
            "SELECT COUNT(*) FROM adult WHERE age > 3 AND ill",
            "SELECT COUNT(*) FROM adult WHERE ill AND 3 < age AND ill",
        ),
        ("SELECT SUM(age * 2) FROM adult", "WITH t AS (SELECT 2 * age AS x FROM adult) SELECT SUM(x) FROM t"),
        (
            "SELECT COUNT(*) FROM adult WHERE ill AND age < 5",
            "SELECT COUNT(*) FROM (SELECT * FROM adult WHERE ill) t WHERE age < 5",
        ),
        (
            "SELECT age, sex, COUNT(*) FROM adult GROUP BY sex, age",
            "SELECT COUNT(*) FROM adult GROUP BY age, sex ORDER BY 1 LIMIT 2",
        ),
        ("SELECT COUNT(*), AVG(age) FROM adult", "SELECT AVG(age) / 2, COUNT(*) FROM adult HAVING COUNT(*) > 5"),
        (
            "SELECT COUNT(*) FROM adult WHERE age BETWEEN 1 AND 2",
            "SELECT COUNT(*) FROM adult WHERE age >= 1 AND age <= 2",
        ),
        (
            "SELECT COUNT(*) FROM adult WHERE sex IN ('F', 'M')",
            "SELECT COUNT(*) FROM adult WHERE sex IN ('M', 'F', 'M')",
        ),
        ('SELECT AVG("Mixed Case") FROM adult', 'SELECT AVG("mixed case") FROM adult'),
        ("SELECT COUNT(person_id) FROM adult", "SELECT COUNT(1) FROM adult"),
        ("SELECT AVG(age + 1 + 1) FROM adult WHERE age < 2 + 3", "SELECT AVG(age + 1 + 1) FROM adult WHERE age < 5"),
    ],
)
def test_spellings_of_one_question_have_one_key(one: str, other: str) -> None:
    assert same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT COUNT(*) FROM adult WHERE age > 3", "SELECT COUNT(*) FROM adult WHERE age >= 3"),
        ("SELECT COUNT(*) FROM adult WHERE age > 3 AND ill", "SELECT COUNT(*) FROM adult WHERE age > 3 OR ill"),
        ("SELECT COUNT(*) FROM adult WHERE sex = '1'", "SELECT COUNT(*) FROM adult WHERE sex = '2'"),
        ("SELECT SUM(age - 2) FROM adult", "SELECT SUM(2 - age) FROM adult"),
        ("SELECT COUNT(age) FROM adult", "SELECT COUNT(*) FROM adult"),
        ("SELECT sex, COUNT(*) FROM adult GROUP BY sex", "SELECT COUNT(*) FROM adult"),
    ],
)
def test_different_questions_have_different_keys(one: str, other: str) -> None:
    assert not same(one, other)


def test_what_stands_above_the_release() -> None:
    text = "SELECT sex, AVG(age) AS m FROM adult GROUP BY sex HAVING COUNT(*) > 5"
    text += " ORDER BY SUM(hours) DESC, sex LIMIT 3 OFFSET 1"
    plan = parse(text, SCHEMA)
    assert [name for name, _ in plan.columns] == ["sex", "m"]
    limit = plan.child
    assert isinstance(limit, Limit)
    assert (limit.count, limit.offset) == (3, 1)
    assert isinstance(limit.child, Sort)
    assert [order.descending for order in limit.child.orders] == [True, False]
    assert isinstance(limit.child.child, Having)
    aggregate = limit.child.child.child
    assert isinstance(aggregate, Aggregate)
    wanted = {Measure("mean", Field("age")), Measure("rows"), Measure("sum", Field("hours"))}
    assert set(aggregate.measures) == wanted, "an aggregate that stands only in HAVING or ORDER BY is asked too"


def test_names_of_columns() -> None:
    plan = parse("SELECT sex, COUNT(*), COUNT(*), AVG(age) FROM adult GROUP BY sex", SCHEMA)
    assert [name for name, _ in plan.columns] == ["sex", "count", "count_2", "avg"]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("YEAR(born)", "year"),
        ("EXTRACT(MONTH FROM born)", "month"),
        ("DATE_TRUNC('month', born)", "month"),
        ("age + 1", "age_1"),
        ("age > 40", "age_40"),
        ("FLOOR(age / 10) * 10", "floor_age_10_10"),
        ("age + age + age + age + age + age + age + age", "value"),
    ],
)
def test_a_column_without_a_name_is_called_by_what_was_written(written: str, name: str) -> None:
    plan = parse(f"SELECT {written}, COUNT(*) FROM adult GROUP BY 1", SCHEMA)
    assert plan.columns[0][0] == name


def test_an_alias_does_not_hide_a_column_of_the_rows() -> None:
    """SQL's rule: GROUP BY takes a column of the table before a name of the SELECT list."""
    plan = parse("SELECT age // 2 AS ill, ill, COUNT(*) FROM adult GROUP BY ill, age // 2", SCHEMA)
    assert Field("ill") in aggregate_of(plan).keys


def test_the_canonical_text_is_stable() -> None:
    """Hashes of it are keys of the ledger: this text changes only on purpose."""
    plan = parse("SELECT sex, COUNT(*) AS n FROM adult WHERE age > 0.5 GROUP BY sex", SCHEMA)
    assert canonical(plan) == (
        '{"child":{"child":{"child":{"node":"Scan","table":"adult"},"conditions":[{"arguments":[{"node":"Literal",'
        '"value":{"number":"1/2"}},{"name":"age","node":"Field"}],"node":"Call","operation":"lt"}],"node":"Filter"},'
        '"keys":[{"name":"sex","node":"Field"}],"measures":[{"kind":"rows","node":"Measure","of":null}],'
        '"node":"Aggregate"},"columns":[["sex",{"name":"sex","node":"Field"}],'
        '["n",{"kind":"rows","node":"Measure","of":null}]],"node":"Select"}'
    )
