"""The first minute: a generated table, its policy, a preview, an answer, a replay, a refusal, the ledger verified."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from sfumato.core.errors import SfumatoError
from sfumato.noise import DiscreteGaussian, system_source, uniform_below

PEOPLE = 20_000
_SPREAD = Fraction(100)
_EDUCATION = ("Primary", "Secondary", "Bachelor", "Master", "Doctorate")
_BY_SEX = "SELECT sex, COUNT(*) AS people, AVG(hours) AS hours FROM people GROUP BY sex"
_BY_EDUCATION = "SELECT education, AVG(hours) AS hours FROM people GROUP BY education"


def run(folder: Path, say: Callable[[str], None]) -> None:
    """Act it out in `folder`, with keys of its own there. Every figure that is said is computed on the spot."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in ("people.csv", "policy.toml", "policy.ledger", "policy.ledger-wal", "policy.ledger-shm"):
        (folder / old).unlink(missing_ok=True)
    os.environ["SFUMATO_HOME"] = str(folder / "home")
    _write_people(folder / "people.csv")
    _write_policy(folder / "policy.toml")

    from sfumato.curator.dataset import open_dataset
    from sfumato.curator.home import Home
    from sfumato.curator.policy import Policy
    from sfumato.show.answer import text

    home = Home.default()
    for head in home.heads.glob("*"):
        head.unlink()
    Policy.load(folder / "policy.toml").new_ledger(home)
    data = open_dataset(folder / "policy.toml", home=home)
    ana = data.session("ana")

    say(
        f"1. A table of {PEOPLE:,} people, and a policy that says what may be asked of it, and how much in all: epsilon 1."
    )
    preview = ana.preview(_BY_SEX, within="0.5", at=5000)
    bars = ", ".join(f"{name} ±{width:.2g}" for name, width in preview.within().items())
    say("\n2. A question is priced before it is asked. The price for means within half an hour, in groups of 5 000:")
    say(f"   {_BY_SEX}\n   epsilon {float(preview.epsilon):g} ({bars})")
    say("\n3. Asked: the charge is written down, then the answer is computed and blurred.\n")
    first = ana.ask(preview)
    say(text(first))
    say("\n4. Asked again, by someone who hopes to average the noise away: the same answer, for free.\n")
    say(text(ana.ask(_BY_SEX, epsilon=preview.epsilon)))
    say("\n5. What cannot be answered is refused, with its place and a way out:")
    for question, price in (("SELECT * FROM people", "0.1"), (_BY_EDUCATION, "5")):
        try:
            ana.ask(question, epsilon=price)
        except SfumatoError as error:
            say(f"   {question}\n   {error}")
    position = data.ledger.verify()
    spent = float(data.ledger.totals().spent.amount)
    say(f"\n6. The ledger verifies: {position.n} records, epsilon {spent:g} of 1 spent, head {position.digest[:16]}...")
    say(f"\nGo on:  cd {folder}; export SFUMATO_HOME=$PWD/home; sfumato ask '{_BY_EDUCATION}' --epsilon 0.3")
    say("        sfumato audit        # we attack our own mechanisms")


def _write_people(path: Path) -> None:
    """Made-up people: hours around 38, more for some."""
    source = system_source()
    sexes, ages = uniform_below(2, PEOPLE), uniform_below(60, PEOPLE)
    schools, spread = uniform_below(len(_EDUCATION), PEOPLE), DiscreteGaussian(_SPREAD).sample(source, PEOPLE)
    with path.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["person_id", "sex", "age", "education", "hours"])
        for i in range(PEOPLE):
            hours = max(0, min(99, 36 + 3 * int(sexes[i]) + int(schools[i]) + int(spread[i])))
            writer.writerow([i, "FM"[sexes[i]], 18 + int(ages[i]), _EDUCATION[schools[i]], hours])


def _write_policy(path: Path) -> None:
    schools = ", ".join(f'"{name}"' for name in _EDUCATION)
    path.write_text(
        f"""[dataset]
name = "people"
id = "d-demo"
version = "1"
size = {PEOPLE}
[unit]
kind = "person"
max_rows = 1
[budget]
epsilon = 1
delta = 1e-6
[tables.people]
source = "csv:people.csv"
unit = "person_id"
[tables.people.columns.sex]
type = "category"
values = ["F", "M"]
[tables.people.columns.age]
type = "integer"
range = [18, 77]
[tables.people.columns.education]
type = "category"
values = [{schools}]
ordered = true
[tables.people.columns.hours]
type = "integer"
range = [0, 99]
"""
    )
