"""Five hundred releases judged by pycanon, in its own environment: it must find what we say was attained."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars
import pytest

import sfumato as sf
from sfumato.anonymise import AlphaK, DistinctDiversity, EntropyDiversity, TCloseness
from sfumato.core.errors import NotSupported

PYTHON = Path(__file__).parents[2] / ".peers" / "pycanon" / "bin" / "python"
JUDGE = """
import json, sys, warnings
warnings.simplefilter("ignore")
import pandas as pd
from pycanon import anonymity
found = []
for case in json.load(open(sys.argv[1])):
    table, quasi = pd.DataFrame(case["rows"]), case["quasi"]
    found.append({
        "k": int(anonymity.k_anonymity(table, quasi)),
        "l": int(anonymity.l_diversity(table, quasi, ["illness"])),
        "entropy": int(anonymity.entropy_l_diversity(table, quasi, ["illness"])),
        "alpha": float(anonymity.alpha_k_anonymity(table, quasi, ["illness"])[0]),
        "t": float(anonymity.t_closeness(table, quasi, ["illness"])),
        "t_pay": float(anonymity.t_closeness(table, quasi, ["pay"])),
    })
print(json.dumps(found))
"""


@pytest.mark.torture
@pytest.mark.skipif(not PYTHON.exists(), reason="pycanon is a peer: sh benchmarks/peers.sh pycanon")
def test_pycanon_finds_what_we_say(
    random_table: Callable[[int], polars.DataFrame],
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    cases: list[dict[str, Any]] = []
    said: list[dict[str, float]] = []
    number = 0
    while len(cases) < 500:
        number += 1
        table = random_table(5000 + number).drop_nulls()
        if table.height < 12:
            continue
        method: Any = ("mondrian", "relaxed", "local", "global")[number % 4]
        quasi = ["age", "job", "sex", "day"][: 1 + number % 4]
        k = 2 + number % 5
        try:
            frame, report = sf.anonymise(
                table,
                k=k,
                quasi_identifiers=quasi,
                sensitive=["illness", "pay"],
                models=[TCloseness("0.45", column="illness"), DistinctDiversity(2, column="illness")],
                method=method,
                suppression="0.1" if method in ("local", "global") else 0,
            )
        except NotSupported:
            continue
        groups = report.outcome.groups
        cases.append({"rows": frame.to_dicts(), "quasi": quasi})
        said.append(
            {
                "k": report.risk.smallest,
                "l": DistinctDiversity(1, "illness").attained(groups),
                "entropy": EntropyDiversity(1, "illness").attained(groups),
                "alpha": AlphaK(1, 1, column="illness").attained(groups),
                "t": TCloseness(1, column="illness").attained(groups),
                "t_pay": TCloseness(1, column="pay").attained(groups),
            }
        )
        assert said[-1]["k"] >= k
        assert said[-1]["t"] <= 0.45 + 1e-12
        assert said[-1]["l"] >= 2
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    done = subprocess.run(
        [str(PYTHON), "-c", JUDGE, str(tmp_path / "cases.json")], capture_output=True, text=True, check=True
    )
    for ours, theirs in zip(said, json.loads(done.stdout), strict=True):
        assert theirs["k"] == ours["k"]
        assert theirs["l"] == ours["l"]
        assert theirs["entropy"] <= ours["entropy"] + 1e-9 < theirs["entropy"] + 1 + 2e-9
        assert theirs["alpha"] == pytest.approx(ours["alpha"])
        assert theirs["t"] == pytest.approx(ours["t"])
        assert theirs["t_pay"] == pytest.approx(ours["t_pay"])
    record_property("tables", len(cases))
