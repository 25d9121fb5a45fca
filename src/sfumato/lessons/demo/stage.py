"""Where the demo is acted out: a folder with tables, policies, ledgers and keys of its own."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from sfumato.core.errors import BadInput
from sfumato.lessons.demo.tables import PATIENTS, SCHOOLS, adult, stays
from sfumato.lessons.lesson import Terms, Words
from sfumato.show.sheet import Block, Lang, Sheet

if TYPE_CHECKING:
    from sfumato.curator.dataset import Dataset
    from sfumato.curator.home import Home

EDITION = "2026-11"
PUBLISHED = f"adult-{EDITION}"
MOST_STAYS = 10
OURS = ("home", "hospital", PUBLISHED)
FILES = ("adult.parquet", "policy.toml", "ledger", "ledger-wal", "ledger-shm", "report.html", "certificate.json")

_POLICY = f"""[dataset]
name = "adult"
id = "d-demo"
version = "{EDITION}"
size = 45_000
[unit]
kind = "person"
max_rows = 1
[budget]
epsilon = 6
delta = 1e-6
per_analyst = {{ ana = 3, mallory = 1, owner = 1, killed = 1 }}
[ledger]
at = "sqlite:ledger"
[tables.adult]
source = "parquet:adult.parquet"
unit = "person"
[tables.adult.columns.age]
type = "integer"
range = [17, 90]
why = "limits of the questionnaire"
[tables.adult.columns.sex]
type = "category"
values = ["Female", "Male"]
[tables.adult.columns.education]
type = "category"
values = [{", ".join(f'"{name}"' for name in SCHOOLS)}]
ordered = true
[tables.adult.columns.hours_per_week]
type = "integer"
range = [0, 99]
"""

_HOSPITAL = f"""[dataset]
name = "hospital"
id = "d-demo-hospital"
version = "{EDITION}"
size = {2 * PATIENTS}
[unit]
kind = "person"
max_rows = {MOST_STAYS}
[budget]
epsilon = 3
[tables.stays]
source = "parquet:stays.parquet"
unit = "patient"
[tables.stays.columns.nights]
type = "integer"
range = [0, 60]
"""


@final
@dataclass(frozen=True)
class Stage:
    """The folder, the language, and two data sets behind their policies."""

    folder: Path
    terms: Terms
    people: Dataset
    hospital: Dataset
    home: Home

    @property
    def lang(self) -> Lang:
        return self.terms.lang

    @property
    def policy(self) -> Path:
        return self.folder / "policy.toml"

    def title(self, words: Words) -> str:
        """A scene's title in the language of the evening."""
        return words.in_(self.lang)

    def sheet(self, blocks: tuple[Block, ...]) -> Sheet:
        """The report."""
        say = self.terms.say
        return Sheet(
            title=say(en="sfumato, seen at work", fr="sfumato, vu à l'œuvre"),
            lang=self.lang,
            subtitle=say(
                en="Five scenes on private tables. Every figure was computed while this page was made.",
                fr="Cinq scènes sur des tables privées. Chaque chiffre a été calculé pendant que cette page se "
                "faisait.",
            ),
            blocks=blocks,
            source="sfumato demo · UCI Adult, CC BY 4.0",
        )

    def go_on(self, report: Path) -> str:
        """The commands to go on."""
        say = self.terms.say
        lines = [
            say(en=f"The report: {report}", fr=f"Le rapport : {report}"),
            say(en="To go on:", fr="Pour continuer :"),
            f"  cd {self.folder}; export SFUMATO_HOME=$PWD/home",
            '  sfumato ask "SELECT sex, AVG(age) AS age FROM adult GROUP BY sex" --epsilon 0.1 --as ana',
            "  sfumato budget",
            "  sfumato ledger verify",
            f"  sfumato certificate verify {PUBLISHED}",
            "  sfumato lesson list",
            "  sfumato audit",
        ]
        return "\n".join(lines)


def staged(folder: Path, *, lang: Lang) -> Stage:
    """The folder, emptied of what an earlier demo left there and of nothing else."""
    import pyarrow.parquet as parquet

    from sfumato.curator.dataset import open_dataset
    from sfumato.curator.home import Home
    from sfumato.curator.policy import Policy

    try:
        (folder / "hospital").mkdir(parents=True, exist_ok=True)
        for name in OURS:
            shutil.rmtree(folder / name, ignore_errors=True)
        for name in FILES:
            (folder / name).unlink(missing_ok=True)
        (folder / "hospital").mkdir()
        parquet.write_table(adult(), folder / "adult.parquet")
        parquet.write_table(stays(), folder / "hospital" / "stays.parquet")
        (folder / "policy.toml").write_text(_POLICY)
        (folder / "hospital" / "policy.toml").write_text(_HOSPITAL)
    except OSError as error:
        why = (error.strerror or "it is refused").lower()
        raise BadInput(f"{folder} cannot be written: {why}", hint="name a folder of yours: --output DIR") from None
    home = Home(folder.resolve() / "home")

    def opened(path: Path) -> Any:
        Policy.load(path).new_ledger(home)
        return open_dataset(path, home=home)

    people, hospital = opened(folder / "policy.toml"), opened(folder / "hospital" / "policy.toml")
    return Stage(folder, Terms(lang, Fraction(1)), people, hospital, home)
