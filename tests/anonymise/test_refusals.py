"""Bad input: said clearly, without a value of the table, and before anything is written."""

from __future__ import annotations

import pickle
from typing import Any

import pandas
import polars
import pytest

import sfumato as sf
from sfumato.anonymise import DistinctDiversity, KMap, Steps, TCloseness
from sfumato.core.errors import BadInput, NotSupported, SfumatoError

MARK = "verysecretword"


@pytest.fixture
def secret() -> polars.DataFrame:
    """Every text is the mark, every number is a number that no message has a reason to say."""
    return polars.DataFrame(
        {
            "age": [770771, 770772, 770773, 770774, None, 770776],
            "job": [f"{MARK}{place}" for place in range(6)],
            "illness": [f"{MARK}x"] * 6,
            "nothing": [None] * 6,
            "void": polars.Series([None] * 6, dtype=polars.Int64),
        }
    )


ASKED: dict[str, tuple[dict[str, Any], str]] = {
    "k too large": ({"k": 7, "quasi_identifiers": ["age"]}, "more people than the table has"),
    "k of zero": ({"k": 0, "quasi_identifiers": ["age"]}, "k is a whole number"),
    "k of a half": ({"k": 2.5, "quasi_identifiers": ["age"]}, "k is a whole number"),
    "no quasi-identifier": ({"k": 2, "quasi_identifiers": []}, "no quasi-identifier"),
    "a text instead of a list": ({"k": 2, "quasi_identifiers": "age"}, "in a list"),
    "unknown column": ({"k": 2, "quasi_identifiers": ["agee"]}, "no column agee"),
    "sensitive too": ({"k": 2, "quasi_identifiers": ["job"], "sensitive": ["job"]}, "two roles"),
    "twice": ({"k": 2, "quasi_identifiers": ["job", "job"]}, "two roles"),
    "all null": ({"k": 2, "quasi_identifiers": ["nothing"]}, "no value at all"),
    "all null, typed": ({"k": 2, "quasi_identifiers": ["void"]}, "no value at all"),
    "sensitive all null": ({"k": 2, "quasi_identifiers": ["job"], "sensitive": ["void"]}, "no value at all"),
    "cuts of a text": ({"k": 2, "quasi_identifiers": ["job"], "cuts": {"job": [1]}}, "no numbers to cut"),
    "falling cuts": ({"k": 2, "quasi_identifiers": ["age"], "cuts": {"age": [3, 1]}}, "not increasing"),
    "cuts of nobody": ({"k": 2, "quasi_identifiers": ["age"], "cuts": {"job": [1]}}, "no role"),
    "both": (
        {"k": 2, "quasi_identifiers": ["age"], "cuts": {"age": [1]}, "hierarchies": {"age": Steps((5,))}},
        "a hierarchy and cut points",
    ),
    "hierarchy of another type": (
        {"k": 2, "quasi_identifiers": ["job"], "hierarchies": {"job": Steps((5,))}},
        "no numbers",
    ),
    "hierarchy that misses": (
        {"k": 2, "quasi_identifiers": ["age"], "hierarchies": {"age": Steps((5,), 0, 99)}},
        "misses 5 distinct values",
    ),
    "model without a sensitive column": (
        {"k": 2, "quasi_identifiers": ["age"], "models": [DistinctDiversity(2)]},
        "sensitive column",
    ),
    "model on another column": (
        {"k": 2, "quasi_identifiers": ["age"], "sensitive": ["illness"], "models": [TCloseness("0.2", column="job")]},
        "job is not a sensitive column",
    ),
    "k-map without a population": ({"k": 2, "quasi_identifiers": ["age"], "models": [KMap(3)]}, "population"),
    "diversity that nobody has": (
        {"k": 2, "quasi_identifiers": ["age"], "sensitive": ["illness"], "models": [DistinctDiversity(2)]},
        "no release of this table",
    ),
    "suppression of all": ({"k": 2, "quasi_identifiers": ["age"], "suppression": 1}, "part of the people"),
    "suppression of text": ({"k": 2, "quasi_identifiers": ["age"], "suppression": "some"}, "part of the people"),
    "unknown method": ({"k": 2, "quasi_identifiers": ["age"], "method": "magic"}, "method is not one of"),
    "unknown null": ({"k": 2, "quasi_identifiers": ["age"], "null": "drop"}, "null is not one of"),
    "wildcard in a lattice": (
        {"k": 2, "quasi_identifiers": ["age"], "null": "wildcard", "method": "global"},
        "cannot match every value",
    ),
    "mean of a text": ({"k": 2, "quasi_identifiers": ["job"], "method": "microaggregate"}, "has no mean"),
    "mean with holes": ({"k": 2, "quasi_identifiers": ["age"], "method": "microaggregate"}, "missing values"),
    "epsilon": ({"k": 2, "quasi_identifiers": ["age"], "epsilon": 1}, "no epsilon"),
}


@pytest.mark.parametrize("case", ASKED)
def test_refused(case: str, secret: polars.DataFrame) -> None:
    asked, said = ASKED[case]
    with pytest.raises(SfumatoError, match=said) as caught:
        sf.anonymise(secret, **asked)
    message = str(caught.value)
    assert caught.value.hint
    assert MARK not in message
    assert "77077" not in message


@pytest.mark.parametrize("frame", [polars.LazyFrame({"a": [1]}), {"a": [1]}, [1, 2], None])
def test_not_a_table(frame: Any) -> None:
    with pytest.raises(BadInput):
        sf.anonymise(frame, k=2, quasi_identifiers=["a"])


def test_duplicate_column_names() -> None:
    table = pandas.DataFrame([[1, 2], [3, 4]], columns=["age", "age"])
    with pytest.raises(BadInput, match="two columns have the name age"):
        sf.anonymise(table, k=2, quasi_identifiers=["age"])


def test_names_that_are_no_text() -> None:
    with pytest.raises(BadInput, match="not a text"):
        sf.anonymise(pandas.DataFrame({0: [1, 2], "age": [3, 4]}), k=2, quasi_identifiers=["age"])


def test_mixed_types() -> None:
    table = pandas.DataFrame({"age": [1, MARK, None, 2.5]})
    with pytest.raises(BadInput, match="mixes types") as caught:
        sf.anonymise(table, k=2, quasi_identifiers=["age"])
    assert MARK not in str(caught.value)


def test_types_that_have_no_coarser_form() -> None:
    table = polars.DataFrame({"path": [[1, 2], [3]]})
    with pytest.raises(BadInput, match="no coarser form"):
        sf.anonymise(table, k=2, quasi_identifiers=["path"])


def test_infinite_numbers() -> None:
    table = polars.DataFrame({"size": [1.0, float("inf")]})
    with pytest.raises(BadInput, match="infinite"):
        sf.anonymise(table, k=2, quasi_identifiers=["size"])


def test_an_empty_table() -> None:
    with pytest.raises(BadInput, match="more people than the table has"):
        sf.anonymise(polars.DataFrame({"age": []}, schema={"age": polars.Int64}), k=1, quasi_identifiers=["age"])


def test_epsilon_is_refused_by_its_code(people: polars.DataFrame) -> None:
    with pytest.raises(NotSupported) as caught:
        sf.anonymise(people, k=2, quasi_identifiers=["age"], delta="1e-6")
    assert caught.value.code == "SF018"
    report = sf.anonymise(people, k=2, quasi_identifiers=["age"]).report
    with pytest.raises(NotSupported) as caught:
        _ = report.epsilon
    assert caught.value.code == "SF018"


def test_a_report_is_not_pickled_with_the_table_in_it(people: polars.DataFrame) -> None:
    released = sf.anonymise(people, k=2, quasi_identifiers=["age"])
    for value in (released, released.report):
        with pytest.raises(BadInput, match="pickled"):
            pickle.dumps(value)


def test_a_population_must_fit(people: polars.DataFrame) -> None:
    asked: dict[str, Any] = {"k": 2, "quasi_identifiers": ["age"], "models": [KMap(2)]}
    for population, said in (
        (people.select("sex"), "no column age"),
        (people.select(polars.col("age").cast(polars.String)), "other types"),
        (people.to_pandas(), "other types|another kind"),
    ):
        with pytest.raises(BadInput, match=said):
            sf.anonymise(people, population=population, **asked)
    with pytest.raises(BadInput, match="no place for a population"):
        sf.anonymise(people, population=people, method="relaxed", **asked)
