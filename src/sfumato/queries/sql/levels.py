"""LEVEL(x, 'chapter'): a coarser level of a public list, as a LEFT join to that list, which nobody's rows are lost by."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from sfumato.core import NotSupported
from sfumato.queries.expression import Field
from sfumato.queries.plan import scans_of
from sfumato.queries.schema import Levels, Schema
from sfumato.queries.sql.join import Joining
from sfumato.queries.sql.names import Names, Relation, relation_of
from sfumato.queries.sql.scalar import Typed, apply
from sfumato.queries.sql.text import Text


def calls_in(tree: exp.Expr) -> list[exp.Anonymous]:
    """Every LEVEL(...) of a SELECT, but not those of the SELECTs inside it."""
    found = [each for each in tree.find_all(exp.Anonymous) if str(each.this).upper() == "LEVEL"]
    return [each for each in found if each.find_ancestor(exp.Select) in {tree, None}]


def levelled(
    below: Relation, names: Names, calls: list[exp.Anonymous], schema: Schema, text: Text
) -> tuple[Relation, Names]:
    """The rows with the levels that are asked for beside them."""
    for node in calls:
        with text.placed(node):
            field, level = _asked(node, names, text)
            if (field, level) in names.levels:
                continue
            levels = _levels_of(field, below, schema)
            columns = [column.name for column in levels.lookup.columns]
            if level not in columns:
                raise NotSupported(
                    "this is no level of the list", hint=f"its levels are {', '.join(columns)}", code="SF021"
                )
            below, names = _joined(below, names, field, levels, schema)
    return below, names


def level_of(node: exp.Anonymous, names: Names, text: Text) -> Typed:
    """The column that a LEVEL(...) has become."""
    field, level = _asked(node, names, text)
    found = names.levels.get((field, level))
    if found is None:
        raise NotSupported("LEVEL cannot stand here", hint="take the level in a subquery below", code="SF021")
    return found


def _asked(node: exp.Anonymous, names: Names, text: Text) -> tuple[str, str]:
    text.only(node, "this", "expressions")
    if len(node.expressions) == 2 and isinstance(node.expressions[0], exp.Column):
        column, level = node.expressions
        of = names.find(column.name, str(column.table))
        if isinstance(level, exp.Literal) and level.is_string and isinstance(of.expression, Field):
            return of.expression.name, str(level.this)
    raise NotSupported(
        "LEVEL takes a column of a public list, and the name of a level",
        hint="write LEVEL(icd10, 'chapter')",
        code="SF021",
    )


def _levels_of(field: str, below: Relation, schema: Schema) -> Levels:
    for scan in scans_of(below.rows):
        for levels in schema.levels:
            if scan.table == levels.table and field == scan.prefix + levels.column:
                return levels
    raise NotSupported(
        "this column has no levels",
        hint="the owner can declare them: values = 'csv:FILE:COLUMN', levels = [...]",
        code="SF005",
    )


def _joined(below: Relation, names: Names, field: str, levels: Levels, schema: Schema) -> tuple[Relation, Names]:
    alias = f"levels of {field}"
    joining = Joining(below, names, relation_of(levels.lookup, schema), alias, outer=True)
    key = levels.lookup.columns[-1].name
    mine = next(of for _, columns in names.parts for of in columns.values() if of.expression == Field(field))
    joining.where(apply("eq", mine, joining.right.columns[key]))
    relation, found = joining.joined()
    columns = found.parts[-1][1]
    taken = {(field, name): of for name, of in columns.items()} | {(field, key): mine}
    return relation, replace(names, levels={**names.levels, **taken})
