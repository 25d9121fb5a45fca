"""What the curator adds to a question: a thousand rows, a new question each time, the charge and the answer durable.

python benchmarks/ask.py [--asks 200]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.curator.dataset import Dataset, open_dataset
from sfumato.curator.home import Home
from sfumato.curator.policy import Policy

TARGET = 15.0
POLICY = """
[dataset]
name = "people"
id = "d-bench"
version = "1"
[unit]
kind = "person"
max_rows = 1
[budget]
epsilon = 1000000
delta = 1e-9
[tables.people]
unit = "person_id"
[tables.people.columns.sex]
type = "category"
values = ["F", "M"]
[tables.people.columns.age]
type = "integer"
range = [0, 100]
[tables.people.columns.hours]
type = "integer"
range = [0, 99]
"""


def opened(folder: Path) -> Dataset:
    (folder / "policy.toml").write_text(POLICY)
    home = Home(folder / "home")
    Policy.load(folder / "policy.toml").new_ledger(home)
    people = pa.table(
        {
            "person_id": list(range(1000)),
            "sex": ["FM"[i % 2] for i in range(1000)],
            "age": [i % 90 for i in range(1000)],
            "hours": [i % 70 for i in range(1000)],
        }
    )
    return open_dataset(folder / "policy.toml", {"people": people}, home=home)


class Timed:
    """The engine, with the time spent in it."""

    def __init__(self, engine: Any) -> None:
        self.dialect, self._engine, self.seconds, self.processor = engine.dialect, engine, 0.0, 0.0

    def look(self) -> None:
        self._engine.look()

    def execute(self, sql: str) -> Any:
        started, worked = time.perf_counter(), time.process_time()
        try:
            return self._engine.execute(sql)
        finally:
            self.seconds += time.perf_counter() - started
            self.processor += time.process_time() - worked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--asks", type=int, default=200)
    asks = parser.parse_args().asks
    with tempfile.TemporaryDirectory(dir=".") as name:
        data = opened(Path(name))
        session = data.session("ana")
        timed = Timed(data.engine)
        data._engine = timed  # type: ignore[assignment]
        question = "SELECT sex, COUNT(*) AS n, AVG(hours) AS h FROM people WHERE age >= {} GROUP BY sex"
        session.ask(question.format(0), epsilon=1)
        wholes, overheads, processor, replays = [], [], [], []
        for i in range(asks):
            text, price = question.format(i % 90), Fraction(1) + Fraction(i, 10**6)
            before, started = timed.seconds, time.perf_counter()
            before_worked, worked = timed.processor, time.process_time()
            session.ask(text, epsilon=price)
            whole = time.perf_counter() - started
            wholes.append(1000 * whole)
            overheads.append(1000 * (whole - timed.seconds + before))
            processor.append(1000 * (time.process_time() - worked - timed.processor + before_worked))
            started = time.perf_counter()
            session.ask(text, epsilon=price)
            replays.append(1000 * (time.perf_counter() - started))
    print(f"{asks} new questions on 1,000 rows, milliseconds, median (95th percentile)")
    for label, times in (
        ("a whole ask", wholes),
        ("without the engine's query", overheads),
        ("  of the processor", processor),
        ("a replay", replays),
    ):
        print(f"  {label:<28} {statistics.median(times):6.1f} ({sorted(times)[int(0.95 * asks)]:.1f})")
    print(f"  target for the overhead: {TARGET:.0f}; {'met' if statistics.median(overheads) <= TARGET else 'MISSED'}")


if __name__ == "__main__":
    main()
