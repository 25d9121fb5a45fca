"""Weights on a public table, as a product: charged, kept, replayed; and private keys in releases."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato.core.errors import BadInput, NotSupported
from sfumato.curator.dataset import Dataset
from sfumato.queries.bounded import sparse
from sfumato.queries.sql.parse import parse

from .conftest import Make, rows

pytestmark = pytest.mark.slow


def public(count: int = 4000) -> Any:
    """A public table of everybody: both sexes alike, all ages."""
    rng = np.random.default_rng(5)
    return pa.table({"sex": rng.choice(["F", "M"], count).tolist(), "age": rng.integers(0, 101, count).tolist()})


def skewed(count: int = 20_000) -> Any:
    """Young women mostly."""
    rng = np.random.default_rng(6)
    age = np.minimum(rng.gamma(2, 12, count).astype(int), 100)
    table = rows(count)
    sex = np.where(rng.random(count) < 0.8, "F", "M").tolist()
    for name, values in (("sex", sex), ("age", age.tolist())):
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    return table


@pytest.mark.parametrize("accountant", ["pure", "zcdp"])
def test_weights_are_charged_kept_and_replayed(make: Make, accountant: str) -> None:
    """Charged what its loss costs, kept in the ledger, replayed byte for byte."""
    private = skewed()
    data = make(accountant=accountant, data=private)
    with data.publish(epsilon=2, delta="1e-6", name="w") as p:
        p.weights(public=public())
    release = p.release()
    listed, averages = release.tables["weights"], release.tables["weights-averages"]
    assert listed.columns == ("sex", "age", "weight")
    assert len(listed.rows) == 4000
    assert sum(row["weight"] for row in listed.rows) == pytest.approx(4000)
    found = {row["average_of"]: row["average"] for row in averages.rows}
    assert set(found) == {"sex = F", "sex = M", "age"}
    (product,) = p.certificate.body["products"]
    assert product["kind"] == "weights"
    assert float(product["effective_rows"].split(",")[0]) > 30
    assert "sha256" in product["public_table"]
    assert product["noise"][0]["proof"]
    again = data.publish(epsilon=2, delta="1e-6", name="w")
    again.weights(public=public())
    assert again.release().files == release.files
    cost = data.budget.cost(release.offer.losses[0])
    assert data.ledger.totals().spent.amount == cost.amount


def test_weights_tilt_towards_the_private_table(make_small: Any) -> None:
    data: Dataset = make_small(skewed())
    with data.publish(epsilon=4, name="w") as p:
        p.weights(public=public())
    found = {row["average_of"]: (row["average"], row["public"]) for row in p.release().tables["weights-averages"].rows}
    assert found["sex = F"][0] > 0.7 > found["sex = F"][1], "0.8 of the private rows, half of the public ones"
    assert found["age"][0] < 0.32 < found["age"][1], "0.235 of the range, and half of it"


@pytest.fixture
def make_small(make: Make, tmp_path: Any) -> Any:
    """A data set that declares as many rows as it has: with a million, twenty thousand rows hardly pull."""

    def made(table: Any) -> Dataset:
        from sfumato.curator.dataset import open_dataset
        from sfumato.curator.home import Home
        from sfumato.curator.policy import Policy

        make(data=table)
        path = tmp_path / "policy.toml"
        path.write_text(path.read_text().replace("size = 1000000", "size = 20000").replace("d-test", "d-small"))
        home = Home(tmp_path / "small")
        (tmp_path / "policy.ledger").unlink()
        Policy.load(path).new_ledger(home)
        return open_dataset(path, {"people": table}, home=home)

    return made


def test_what_cannot_carry_weights_is_refused_before_a_charge(make: Make) -> None:
    data = make()
    constant = pa.table({"sex": ["F", "M"] * 50, "age": [40] * 100})
    for given, says in (
        ({"public": constant}, "'age' is constant"),
        ({"public": public().slice(0, 1)}, "fewer than two rows"),
        ({"public": public(), "columns": ["hours"]}, "no column hours"),
        ({"public": pa.table({"sex": ["F", "X"] * 50})}, "not on the public list"),
        ({"public": pa.table({"town": ["A", "B"]})}, "no column was named"),
    ):
        with pytest.raises(BadInput, match=says), data.publish(epsilon=1, name="w") as p:
            p.weights(**given)
    with pytest.raises(NotSupported, match="notes has no public list or range"), data.publish(epsilon=1) as p:
        p.weights(public=pa.table({"notes": [1, 2, 3]}))
    assert data.ledger.totals().spent.amount == 0


def test_the_owner_is_told_of_a_public_table_that_is_the_private_one(make: Make) -> None:
    data = make()
    for given, says in (
        (rows().select(["sex", "age"]), "the public table is the private one"),
        (pa.table({"age": [91, 99] * 50}), "no common support"),
    ):
        p = data.publish(epsilon=1, name="w")
        p.weights(public=given)
        with pytest.raises(BadInput, match=says):
            p.scan()
    good = data.publish(epsilon=1, name="w")
    good.weights(public=public())
    good.scan()
    assert data.ledger.totals().spent.amount == 0, "looking costs nothing and charges nothing"


def test_few_effective_rows_are_said_and_none_is_published(make_small: Any) -> None:
    """Twelve public rows carry at most twelve effective ones, whatever the noise."""
    data: Dataset = make_small(skewed())
    with data.publish(epsilon=1, name="w") as p:
        p.weights(public=public(12))
    assert p.release().tables["weights"].rows == ()
    assert "fewer than 30" in p.certificate.body["products"][0]["effective_rows"]
    assert set(p.release().files) >= {"weights.csv", "weights-averages.csv", "certificate.json"}


def test_rows_are_read_with_the_reach_of_questions(make: Make) -> None:
    """Sparse groups have the sensitivity and the cells of the dense answer: those that there are, and no other."""
    data = make(max_rows=2)
    plan = parse("SELECT sex, age, COUNT(*) AS n FROM people GROUP BY sex, age", data.schema)
    found = sparse(plan, data.schema)
    dense = data.terms.preview(plan, epsilon=1).bounded
    assert found == dense
    wide = parse(
        "SELECT age, hours, age + 0 AS a, age * 2 AS b, COUNT(*) AS n FROM people GROUP BY age, hours, a, b",
        data.schema,
    )
    with pytest.raises(NotSupported, match="more than a million"):
        data.terms.preview(wide, epsilon=1)
    many = sparse(wide, data.schema)
    assert many.size > 10**6
    assert many.sensitivity.l1 == found.sensitivity.l1 == 2 * Fraction(2**20)


def test_private_keys_in_a_release(tmp_path: Any) -> None:
    from sfumato.curator.dataset import open_dataset
    from sfumato.curator.home import Home
    from sfumato.curator.policy import Policy

    from .conftest import POLICY

    path = tmp_path / "policy.toml"
    text = POLICY.format(epsilon=10, accountant="pure", max_rows=1, per_analyst="", neighbours="add-remove")
    path.write_text(text + '[tables.people.columns.town]\ntype = "text"\nvalues = "private"\n')
    home = Home(tmp_path / "home")
    Policy.load(path).new_ledger(home)
    towns = [f"alone {i}" if i < 20 else "AB"[i % 2] for i in range(4000)]
    data = open_dataset(path, {"people": rows(4000).append_column("town", pa.array(towns))}, home=home)
    with pytest.raises(BadInput, match="publish with a delta"), data.publish(epsilon=1, name="towns") as p:
        p.counts("town")
    assert data.ledger.totals().spent.amount == 0
    with data.publish(epsilon=1, delta="1e-6", name="towns") as p:
        p.counts("town")
    (table,) = p.release().tables.values()
    assert [row["town"] for row in table.rows] == ["A", "B"], "towns of one person are told with probability below 1e-6"
    (key,) = p.certificate.body["products"][0]["tables"][0]["keys"]
    assert key["keys"] == "threshold"
    assert int(key["threshold"]) > 1
    assert not re.search(r"alone \d", p.certificate.text().decode() + table.csv())
    assert "told where a noisy number" in " ".join(p.certificate.show().split())
    assert data.ledger.totals().spent.failure > 0
