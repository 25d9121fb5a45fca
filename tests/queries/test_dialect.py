"""Statements as engines read them: what one of them would take for something else is written otherwise."""

from __future__ import annotations

import pytest
from sqlglot import exp

from sfumato.queries.sql.dialect import written

REFERENCES = ["${env:HOME}", "a${spark.app.name}b${x}", "${", "$${${", "${a}${b}", "it's \\${env:HOME}\\"]


@pytest.mark.parametrize("text", REFERENCES)
def test_a_text_never_refers_to_the_settings_of_spark(text: str) -> None:
    """Else `WHERE '${env:PGPASSWORD}' LIKE 'a%'` would be all rows or none, and tell the password letter by letter."""
    condition = exp.Like(this=exp.column("g"), expression=exp.Literal.string(text))
    said = written(exp.select("1").from_("t").where(condition), "spark")
    assert "${" not in said
    pieces = [each.this for each in said_literals(said)]
    assert text in "".join(pieces)


def said_literals(said: str) -> list[exp.Literal]:
    """The texts of a statement, in their order, as Spark's own rules read them."""
    from sqlglot import parse_one

    condition = parse_one(said, dialect="spark").args["where"]
    found = [each for each in condition.find_all(exp.Literal, bfs=False) if each.is_string]
    return sorted(found, key=lambda each: said.find(each.sql(dialect="spark")))
