"""The demo's tables: Adult with its missing marks cleaned, and a made-up hospital in which patients come back."""

from __future__ import annotations

from typing import Any

SCHOOLS = (
    "Preschool",
    "1st-4th",
    "5th-6th",
    "7th-8th",
    "9th",
    "10th",
    "11th",
    "12th",
    "HS-grad",
    "Some-college",
    "Assoc-voc",
    "Assoc-acdm",
    "Bachelors",
    "Masters",
    "Prof-school",
    "Doctorate",
)
"""Education in Adult, in its order."""
PATIENTS = 3_000


def adult() -> Any:
    """UCI Adult as an Arrow table: rows with a missing mark left out, as note 002 does; a number for each person."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as parquet

    from sfumato.data import adult_path

    names = ["age", "workclass", "occupation", "native_country", "education", "sex", "hours_per_week"]
    table = parquet.read_table(adult_path(), columns=names)
    for name in names:
        if pa.types.is_string(table.schema.field(name).type):
            table = table.filter(pc.not_equal(table[name], "?"))
    kept = table.select(["age", "education", "sex", "hours_per_week"])
    return kept.append_column("person", pa.array([f"p{place}" for place in range(len(kept))]))


def stays() -> Any:
    """Made-up stays in a hospital: most patients come once or twice, a few come very often."""
    import pyarrow as pa

    from sfumato.noise import geometric, uniform_below

    often = uniform_below(20, PATIENTS)
    rare, many = geometric(1, PATIENTS), geometric(25, PATIENTS)
    patients, nights = [], []
    for place in range(PATIENTS):
        count = 1 + int(many[place] if often[place] == 0 else rare[place])
        patients += [f"p{place}"] * count
        nights += (1 + geometric(4, count)).tolist()
    return pa.table({"patient": patients, "nights": nights})
