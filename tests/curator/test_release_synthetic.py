"""A synthetic table as a product: charged what its noise costs, drawn once, kept and handed out again; types of the policy."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.errors import BadInput, NotSupported

from .conftest import Make, rows

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("accountant", "delta", "kind"), [("pure", "0", "pure"), ("pure", "1e-7", "approximate"), ("zcdp", "0", "zcdp")]
)
def test_rows_that_nobody_has(make: Make, accountant: str, delta: str, kind: str) -> None:
    data = make(accountant=accountant, data=rows(3000))
    with data.publish(epsilon=4, delta=delta, name="s") as p:
        p.synthetic(["sex", "age", "hours"], method="mst")
    release = p.release()
    listed, singles = release.tables["synthetic"], release.tables["synthetic-columns"]
    assert listed.columns == ("sex", "age", "hours")
    # The noisy total of 3000 is off by more than 600 with probability far below 1e-9 at epsilon 4.
    assert 2400 < len(listed.rows) < 3600
    assert {row["sex"] for row in listed.rows} <= {"F", "M"}
    assert all(isinstance(row["age"], int) and 0 <= row["age"] <= 100 for row in listed.rows)
    assert all(isinstance(row["hours"], float) and 0 <= row["hours"] <= 99 for row in listed.rows)
    women = sum(row["sex"] == "F" for row in listed.rows) / len(listed.rows)
    assert abs(women - 2 / 3) < 0.1
    (counted,) = [row for row in singles.rows if row["value"] == "sex = F"]
    assert counted["count_low"] < counted["count_unbiased"] < counted["count_high"]
    losses = [each["noise"][0]["loss"]["kind"] for each in p.certificate.body["products"]]
    assert losses == [kind]
    spent = data.ledger.totals().spent
    assert spent == release.offer.charge
    if accountant == "pure":
        assert spent.amount == 4
        assert spent.failure == Fraction(delta)

    again = data.publish(epsilon=4, delta=delta, name="s")
    again.synthetic(["sex", "age", "hours"], method="mst")
    assert again.release().files == release.files, "drawn once, and kept"
    assert data.ledger.totals().spent == spent


def test_missing_values_and_edges(make: Make, tmp_path: Any) -> None:
    from sfumato.curator.dataset import open_dataset

    table = rows(2000)
    sex = ["F" if i % 3 else None for i in range(2000)]
    make(data=table)
    path = tmp_path / "policy.toml"
    path.write_text(path.read_text().replace('values = ["F", "M"]', 'values = ["F", "M"]\nnull = "group"'))
    from sfumato.curator.home import Home

    data = open_dataset(path, {"people": table.set_column(1, "sex", pa.array(sex))}, home=Home(tmp_path / "home"))
    with data.publish(epsilon=8, name="s") as p:
        p.synthetic(["sex", "age"], method="mst", edges={"age": [0, 18, 65, 101]})
    rows_ = p.release().tables["synthetic"].rows
    missing = sum(row["sex"] is None for row in rows_) / len(rows_)
    assert abs(missing - 1 / 3) < 0.1
    labels = [row["value"] for row in p.release().tables["synthetic-columns"].rows]
    assert labels[-3:] == ["age = 0 to 18", "age = 18 to 65", "age = 65 to 101"]
    assert "sex = (missing)" in labels


def test_what_cannot_be_modelled_is_refused_before_a_charge(make: Make) -> None:
    data = make()
    with pytest.raises(NotSupported, match="notes has no public list or range"), data.publish(epsilon=1) as p:
        p.synthetic(["sex", "notes"])
    with pytest.raises(BadInput, match="unknown method"), data.publish(epsilon=1) as p:
        p.synthetic(method="magic")
    with pytest.raises(BadInput, match="do not rise"), data.publish(epsilon=1) as p:
        p.synthetic(["age"], edges={"age": [3, 2, 1]})
    assert data.ledger.totals().spent.amount == 0
