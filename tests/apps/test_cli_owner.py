"""The owner's commands, as typed: what they print, what they write, how they exit, and what they never show."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from sfumato.apps.cli import COMMANDS, main
from sfumato.core.errors import NotAllowed
from sfumato.curator.home import Home
from sfumato.curator.ledger.ledger import Reserved
from sfumato.curator.ledger.records import Charge
from sfumato.curator.policy import Policy
from sfumato.curator.policy.document import json_schema

BIN = Path(sys.executable).parent / "sfumato"
PEOPLE = "person_id,sex,age,education,hours\n1,F,39,Bachelors,40\n2,M,50,HS-grad,13\n3,F,38,Masters,40\n"
INIT = ("init", "people.csv", "--unit", "person_id", "--max-rows", "1", "--values", "sex=F,M", "-o", "policy.toml")

Ran = tuple[int, str, str]
Run = Callable[..., Ran]


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LANG", "en_GB.UTF-8")
    for name in ("LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "people.csv").write_text(PEOPLE)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line in this process; exit code, stdout, stderr."""

    def typed(*words: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["sfumato", *words])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
        out, err = capsys.readouterr()
        return code, out, err

    return typed


@pytest.fixture
def ready(run: Run) -> Run:
    code, _, err = run(*INIT)
    assert code == 0, err
    return run


def spend(amount: str, *, analyst: str = "ana", key: str = "q") -> None:
    ledger = Policy.load("policy.toml").ledger(Home.default())
    charged = ledger.reserve(key, analyst=analyst, charge=Charge(Fraction(amount)), what={"question": "how many"})
    assert isinstance(charged, Reserved)


# The lines of the issue, in processes of their own.


def test_the_lines_as_they_are_typed(tmp_path: Path) -> None:
    for line in (
        "sfumato init people.csv --unit person_id --max-rows 1 --values sex=F,M -o policy.toml",
        "sfumato policy check policy.toml",
        "sfumato budget --policy policy.toml --format json",
        "sfumato ledger verify --policy policy.toml",
    ):
        done = subprocess.run([str(BIN), *line.split()[1:]], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        if "budget" in line:
            body = json.loads(done.stdout)
            assert body["spent"] == {"epsilon": "0", "delta": "0"}
            assert body["left"] == {"epsilon": "3", "delta": "1e-6"}
    assert (tmp_path / "policy.ledger").is_file()


# init


def test_init_proposes_what_is_safe(ready: Run) -> None:
    policy = Policy.load("policy.toml")
    (table,) = policy.schema().tables
    assert (table.name, table.unit) == ("people", "person_id")
    assert {column.name: column.type for column in table.columns} == {
        "sex": "category",
        "age": "integer",
        "hours": "integer",
    }
    assert all(column.range is None for column in table.columns), "ranges come from the owner only"
    text = Path("policy.toml").read_text()
    assert "# [tables.people.columns.education]" in text, "text is hidden, and shown as such"
    assert "person_id" not in [column.name for column in table.columns]
    assert policy.document.budget.epsilon == 3


def test_init_takes_what_it_is_told(run: Run) -> None:
    code, _, err = run(
        *("init", "people.csv", "--unit", "person_id", "--max-rows", "2", "--values", "sex=F,M", "--values"),
        *("people.education=private", "--range", "hours=0,99", "--range", "age=17,90", "--budget", "0.1", "--delta"),
        *("1e-9", "--accountant", "zcdp", "--neighbours", "replace", "--kind", "household", "--name", "the survey"),
        *("--id", "d-mine", "--version", "2026-11", "--size", "50000", "--missing", "NA,?", "-o", "own.toml"),
    )
    assert code == 0, err
    policy = Policy.load("own.toml")
    document = policy.document
    assert (document.dataset.name, policy.id, policy.version) == ("the survey", "d-mine", "2026-11")
    assert (document.dataset.size, policy.missing) == (50_000, ("", "NA", "?"))
    assert (document.unit.kind, document.unit.neighbours, document.unit.max_rows) == ("household", "replace", 2)
    assert (document.budget.epsilon, document.budget.delta) == (Fraction(1, 10), Fraction(1, 10**9))
    assert document.budget.accountant == "zcdp"
    columns = {column.name: column for column in policy.schema().tables[0].columns}
    assert columns["hours"].range == (Fraction(0), Fraction(99))
    assert columns["education"].values == "private"
    assert Path("own.ledger").is_file()
    assert policy.ledger(Home.default()).totals().policy == policy.digest


def test_init_reads_parquet_and_duckdb(run: Run, tmp_path: Path) -> None:
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "stays").mkdir()
    pq.write_table(pa.table({"patient": [1], "days": [2.5], "ward": ["x"]}), tmp_path / "stays" / "a.parquet")
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as database:
        database.execute(
            "CREATE TABLE visits (patient INTEGER, seen DATE, fee DECIMAL(9,2), urgent BOOLEAN, shape UUID)"
        )
    code, _, err = run("init", "stays/*.parquet", "clinic.duckdb", "--unit", "patient", "-o", "two.toml")
    assert code == 0, err
    policy = Policy.load("two.toml")
    stays, visits = policy.schema().tables
    assert (stays.name, visits.name) == ("stays", "visits")
    assert [(column.name, column.type) for column in stays.columns] == [("days", "number")]
    assert [(column.name, column.type) for column in visits.columns] == [
        ("seen", "date"),
        ("fee", "number"),
        ("urgent", "boolean"),
    ]
    assert run("policy", "check", "two.toml", "--scan")[0] == 0


def test_the_source_is_found_from_the_policy(run: Run, tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    assert run("init", "people.csv", "--unit", "person_id", "-o", "conf/policy.toml")[0] == 0
    assert 'source = "csv:../people.csv"' in Path("conf/policy.toml").read_text()
    assert run("policy", "check", "conf/policy.toml", "--scan")[0] == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("people.csv",), "nothing says whose the rows"),
        (("people.csv", "--unit", "persn_id"), "did you mean person_id?"),
        (("people.csv", "--unit", "person_id", "--values", "sexe=F,M"), "did you mean sex?"),
        (("people.csv", "--unit", "person_id", "--range", "hours=99,0"), "ends before it starts"),
        (("people.csv", "--unit", "person_id", "--range", "hours=0"), "two bounds"),
        (("people.csv", "--unit", "person_id", "--range", "hours=0,many"), "not a number"),
        (("people.csv", "--unit", "person_id", "--range", "sex=0,1"), "no range"),
        (("people.csv", "--unit", "person_id", "--values", "sex"), "F,M"),
        (("people.csv", "--unit", "person_id", "--values", "sex=F,F"), "twice"),
        (("people.csv", "--unit", "person_id", "--budget", "0"), "above 0"),
        (("people.csv", "--unit", "person_id", "--delta", "0.5"), "SF007"),
        (("people.csv", "--unit", "person_id", "--id", "../x"), "letters, digits"),
        (("nowhere.csv", "--unit", "person_id"), "no file"),
        (("people.txt", "--unit", "person_id"), "not a kind of file"),
    ],
)
def test_init_refuses_and_leaves_nothing(run: Run, words: tuple[str, ...], says: str) -> None:
    Path("people.txt").write_text("x")
    before = sorted(os.listdir())
    code, out, err = run("init", *words)
    assert code == 2, err
    assert says in err
    assert out == ""
    assert sorted(os.listdir()) == before


def test_init_overwrites_neither_policy_nor_ledger(ready: Run) -> None:
    before = {name: Path(name).read_bytes() for name in ("policy.toml", "policy.ledger")}
    assert ready(*INIT)[0] == 2
    Path("policy.toml").unlink()
    code, _, err = ready(*INIT)
    assert code == 2
    assert "policy.ledger exists already" in err
    assert Path("policy.ledger").read_bytes() == before["policy.ledger"]
    assert not Path("policy.toml").exists()


# init --policy

BY_HAND = """\
# ours
[dataset]  # the clinic
name = "stays"
version = "1"

[unit]
kind = "person"

[budget]
epsilon = 3

[tables.stays]
source = "postgresql:service=nowhere:hospital.stays"
unit = "patient"
"""


def test_a_policy_written_by_hand_gets_an_id_and_its_ledger(run: Run) -> None:
    Path("clinic.toml").write_text(BY_HAND)
    code, out, err = run("init", "--policy", "clinic.toml")
    assert code == 0, err
    policy = Policy.load("clinic.toml")
    assert re.fullmatch(r"d-[0-9a-f]{20}", policy.id)
    assert policy.id in err + out
    text = Path("clinic.toml").read_text()
    assert "".join(line for line in text.splitlines(keepends=True) if not line.startswith("id = ")) == BY_HAND
    assert policy.ledger(Home.default()).totals().policy == policy.digest
    assert run("budget", "--policy", "clinic.toml")[0] == 0
    before = Path("clinic.ledger").read_bytes()
    assert run("init", "--policy", "clinic.toml")[0] == 2
    assert (Path("clinic.toml").read_text(), Path("clinic.ledger").read_bytes()) == (text, before)


def test_a_policy_written_by_hand_keeps_its_id(run: Run) -> None:
    written = BY_HAND.replace('version = "1"', 'version = "1"\nid = "clinic-stays"')
    Path("clinic.toml").write_text(written)
    assert run("init", "--policy", "clinic.toml")[0] == 0
    assert Path("clinic.toml").read_text() == written


def test_a_ledger_that_is_gone_is_not_made_anew(run: Run) -> None:
    Path("clinic.toml").write_text(BY_HAND)
    assert run("init", "--policy", "clinic.toml")[0] == 0
    Path("clinic.ledger").unlink()
    code, _, err = run("init", "--policy", "clinic.toml")
    assert code == 6, "a second ledger of one data set would forget what was spent"
    assert "SF013" in err
    assert not Path("clinic.ledger").exists()


@pytest.mark.parametrize(
    ("change", "exits", "says"),
    [
        (("epsilon = 3", "epsilon = -3"), 5, "line 10"),
        (('source = "postgresql:service=nowhere:hospital.stays"', 'source = "csv:people.csv"'), 5, "SF019"),
        (("[dataset]  # the clinic\n", "[dataset\n"), 5, "not TOML"),
    ],
)
def test_a_wrong_policy_gets_neither_id_nor_ledger(run: Run, change: tuple[str, str], exits: int, says: str) -> None:
    written = BY_HAND.replace(*change)
    Path("clinic.toml").write_text(written)
    code, _, err = run("init", "--policy", "clinic.toml")
    assert code == exits
    assert says in err
    assert Path("clinic.toml").read_text() == written
    assert not Path("clinic.ledger").exists()


def test_who_is_told_that_there_is_no_ledger_is_told_what_makes_one(run: Run) -> None:
    Path("clinic.toml").write_text(BY_HAND.replace('version = "1"', 'version = "1"\nid = "clinic-stays"'))
    assert "sfumato init --policy" in run("budget", "--policy", "clinic.toml")[2]
    Home.default().make_ledger_key()
    assert "sfumato init --policy" in run("budget", "--policy", "clinic.toml")[2]
    assert "sfumato init --policy" in run("init", "postgresql:service=clinic:stays", "-o", "x.toml")[2]


def test_with_a_policy_no_option_says_it_again(run: Run) -> None:
    Path("clinic.toml").write_text(BY_HAND)
    for words in (("people.csv",), ("--unit", "patient"), ("--budget", "9")):
        assert run("init", "--policy", "clinic.toml", *words)[0] == 2
    assert run("init")[0] == 2
    assert Path("clinic.toml").read_text() == BY_HAND


SENTINELS = {
    "person_id": "918273645",
    "sex": "Zq9xSentinelle",
    "age": "918273646",
    "education": "Wörtsentinel%s",
    "hours": "1987-06-05",
}


def sentinel_file(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [list(SENTINELS.values())] * 3
    if path.suffix == ".csv":
        lines = [",".join(SENTINELS), *(",".join(row) for row in rows)]
        path.write_text("\n".join(lines) + "\n")
    elif path.suffix == ".parquet":
        pq.write_table(pa.table({name: [value] * 3 for name, value in SENTINELS.items()}), path)
    else:
        import duckdb

        with duckdb.connect(str(path)) as database:
            database.execute(f"CREATE TABLE people ({', '.join(f'{name} VARCHAR' for name in SENTINELS)})")
            database.execute("INSERT INTO people VALUES (?, ?, ?, ?, ?)", list(SENTINELS.values()))


def written(folder: Path, but: Path) -> Iterator[bytes]:
    for path in folder.rglob("*"):
        if path.is_file() and path != but:
            yield path.read_bytes()


@pytest.mark.parametrize("file", ["secret.csv", "secret.parquet", "secret.duckdb"])
def test_no_value_is_ever_shown_or_written(run: Run, tmp_path: Path, file: str) -> None:
    """Every cell holds a sentinel; whatever happens, it appears nowhere."""
    source = tmp_path / file
    sentinel_file(source)
    said = ""
    for words in (
        ("init", file, "--unit", "person_id", "-o", "secret.toml", "--values", "sex=F,M"),
        ("init", file, "--unit", "person_id", "--range", "age=0,99", "-o", "a.toml"),
        ("init", file, "--unit", "nobody", "-o", "b.toml"),
        ("init", file, "-o", "c.toml"),
        ("init", file, "--unit", "person_id", "--range", "education=0,1", "-o", "d.toml"),
        ("policy", "check", "secret.toml"),
        ("policy", "check", "secret.toml", "--scan"),
        ("policy", "check", "secret.toml", "--scan", "--format", "json"),
        ("doctor", "--policy", "secret.toml"),
        ("tables", "--policy", "secret.toml"),
        ("ledger", "export", "--policy", "secret.toml"),
    ):
        _, out, err = run(*words)
        assert "Traceback" not in err
        said += out + err
    assert Path("secret.toml").exists()
    content = b"".join(written(tmp_path, source)) + said.encode()
    for value in SENTINELS.values():
        assert value.encode() not in content, value


@pytest.mark.parametrize(
    "first",
    [
        "918273645,F,39",
        "Zq9xSentinelle,918273646",
        "Zq9xSentinelle,,F",
        "Zq9xSentinelle,1987-06-05",
        "zq@sentinel.org,a",
    ],
)
def test_a_file_without_a_header_is_not_read_aloud(run: Run, first: str) -> None:
    Path("bare.csv").write_text(f"{first}\n{first}\n")
    code, out, err = run("init", "bare.csv", "--unit", "x", "-o", "bare.toml")
    assert code == 2
    assert "header" in err
    for cell in first.split(","):
        assert not cell or len(cell) < 3 or cell not in out + err
    assert not Path("bare.toml").exists()


def test_a_column_may_be_called_by_its_position(run: Run) -> None:
    Path("plain.csv").write_text("column0,column1\n1,2\n")
    assert run("init", "plain.csv", "--unit", "column0", "-o", "plain.toml")[0] == 0


def test_words_for_missing_do_not_make_text_of_numbers(run: Run) -> None:
    Path("people.csv").write_text(PEOPLE.replace(",39,", ",unknown,").replace(",50,", ",NA,"))
    assert run(*INIT)[0] == 0
    assert "age" not in [column.name for column in Policy.load("policy.toml").schema().tables[0].columns]
    assert run(*INIT[:-1], "own.toml", "--missing", "unknown")[0] == 0
    assert [column.type for column in Policy.load("own.toml").schema().tables[0].columns] == [
        "category",
        "integer",
        "integer",
    ]


@pytest.mark.parametrize("content", [b"", b"\x00\xff\xfe", b'a,b\n"unclosed,918273645\n', b"PAR1"])
def test_a_broken_file_is_an_error_without_its_content(run: Run, content: bytes) -> None:
    for name in ("broken.csv", "broken.parquet", "broken.duckdb"):
        Path(name).write_bytes(content)
        code, out, err = run("init", name, "--unit", "a", "-o", "broken.toml")
        assert "Traceback" not in err
        assert "918273645" not in out + err
        if code == 0:  # a lenient reader made a table of it
            Path("broken.toml").unlink()
            Path("broken.ledger").unlink()
        else:
            assert code in {2, 7}, err


def test_init_asks_on_a_terminal(tmp_path: Path) -> None:
    answers = {b"whose row": b"person_id\n", b"how many rows": b"1\n", b"epsilon": b"2.5\n", b"people.sex": b"F,M\n"}
    answers |= {b"people.hours": b"0,99\n", b"people.age": b"\n", b"people.education": b"\n"}
    child, terminal = pty.fork()
    if child == 0:
        os.execv(str(BIN), [str(BIN), "init", "people.csv"])
    seen = b""
    while True:
        ready, _, _ = select.select([terminal], [], [], 60)
        assert ready, f"no question for a minute after {seen!r}"
        try:
            new = os.read(terminal, 4096)
        except OSError:
            break
        if not new:
            break
        seen += new
        for question in [each for each in answers if each in seen and seen.rstrip(b" ").endswith(b":")]:
            os.write(terminal, answers.pop(question))
            break
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 0, seen
    assert not answers, f"never asked: {answers}"
    policy = Policy.load(tmp_path / "policy.toml")
    columns = {column.name: column for column in policy.schema().tables[0].columns}
    assert policy.document.budget.epsilon == Fraction(5, 2)
    assert columns["sex"].values == ("F", "M")
    assert columns["hours"].range == (Fraction(0), Fraction(99))
    assert columns["age"].range is None
    assert "education" not in columns


# policy


def edit(old: str, new: str) -> None:
    text = Path("policy.toml").read_text()
    assert old in text
    Path("policy.toml").write_text(text.replace(old, new, 1))


def test_check_says_all_with_places(ready: Run) -> None:
    edit("max_rows = 1", "max_rwos = 1")
    edit("epsilon = 3", 'epsilon = "3"')
    code, out, err = ready("policy", "check", "policy.toml")
    assert code == 5
    assert out == ""
    assert re.findall(r"^policy\.toml: line (\d+), column (\d+): ", err, re.M) == [("13", "1"), ("16", "11")]
    code, out, _ = ready("policy", "check", "policy.toml", "--format", "json")
    assert code == 5
    assert [each["line"] for each in json.loads(out)["problems"]] == [13, 16]


def test_check_compares_the_columns_without_reading_rows(ready: Run) -> None:
    Path("people.csv").write_text(PEOPLE.replace("age", "years"))
    code, _, err = ready("policy", "check")
    assert code == 5
    assert "SF019 the source of people has no column age" in err
    Path("people.csv").unlink()
    code, _out, err = ready("policy", "check")
    assert code == 0, "a policy can be checked where the rows are not"
    assert "not found" in err
    code, _, err = ready("policy", "check", "--scan")
    assert code == 7


SCANS: list[tuple[str, str, tuple[str, str], int, str]] = [
    ("1,F,1,x,1\n2,M,2,x,1\n", "the rows are as declared", ("", ""), 0, ""),
    ("1,F,1,x,1\n1,M,2,x,1\n2,M,2,x,1\n", "two rows of one person, shared weight", ("", ""), 0, "more than 1 rows"),
    (
        "1,F,1,x,1\n1,M,2,x,1\n2,M,2,x,1\n",
        "the same, said to be impossible",
        ("max_rows = 1", "max_rows = 1\nmax_rows_is_fact = true"),
        5,
        "as a fact",
    ),
    ("1,F,1,x,1\n1,M,2,x,1\n2,M,2,x,1\n", "rows protected, people repeat", ('"person"', '"row"'), 5, "SF006"),
    ("1,F,1,x,1\n,M,2,x,1\n", "no unit", ("", ""), 0, "have no unit"),
    ("1,F,1,x,1\n2,M,many,x,1\n", "text in numbers", ("", ""), 0, "cannot be read as integer"),
    ("1,F,1,x,1\n2,X,2,x,1\n", "a key that is not listed", ("", ""), 0, "not on its list"),
    ("1,F,1,x,1\n2,M,2,x,500\n", "beyond the range", ("# range = [0, 100]", "range = [0, 100]"), 0, ""),
    (
        "1,F,500,x,1\n2,M,2,x,1\n",
        "beyond the range",
        ("# range = [0, 100]", "range = [0, 100]"),
        0,
        "outside of its range",
    ),
    (
        "1,F,1,x,1\n2,,2,x,1\n",
        "missing, refused",
        ('values = ["F"', 'null = "refuse"\nvalues = ["F"'),
        5,
        "null = 'refuse'",
    ),
    (
        "1,F,1,x,1\n2,M,1,x,1\n",
        "not unique",
        ('unit = "person_id"', 'unit = "person_id"\nunique = ["age"]'),
        5,
        "SF010",
    ),
    ("1,F,1,x,1\n2,M,2,x,1\n", "unique", ('unit = "person_id"', 'unit = "person_id"\nunique = ["age"]'), 0, ""),
]


@pytest.mark.parametrize(("rows", "name", "change", "exits", "says"), SCANS, ids=[each[1] for each in SCANS])
def test_scan(ready: Run, rows: str, name: str, change: tuple[str, str], exits: int, says: str) -> None:
    Path("people.csv").write_text(PEOPLE.splitlines()[0] + "\n" + rows)
    edit(*change)
    code, _out, err = ready("policy", "check", "--scan")
    assert code == exits, err
    assert says in err
    if not says and '"row"' not in change[1]:
        assert err == ""
    assert re.search(r"policy\.toml: line \d+, column \d+: ", err) or not says
    looked, _, without = ready("policy", "check")
    assert looked == 0
    assert "some " not in without, "without --scan no row is read"


def test_diff_in_two_languages(ready: Run) -> None:
    shutil.copy("policy.toml", "new.toml")
    text = Path("new.toml").read_text().replace("epsilon = 3", "epsilon = 4").replace("max_rows = 1", "max_rows = 2")
    Path("new.toml").write_text(text)
    code, out, _ = ready("policy", "diff", "policy.toml", "new.toml")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == ["weaker", "wider"]
    assert "rises from 3 to 4" in out
    _, out, _ = ready("policy", "diff", "policy.toml", "new.toml", "--lang", "fr")
    assert "monte de 3 à 4" in out
    _, out, _ = ready("policy", "diff", "policy.toml", "new.toml", "--format", "json")
    assert [each["effect"] for each in json.loads(out)] == ["weaker", "wider"]
    _, out, err = ready("policy", "diff", "policy.toml", "policy.toml")
    assert out == ""
    assert "the same" in err


def test_a_raised_cap_needs_a_reason(ready: Run) -> None:
    edit("epsilon = 3", "epsilon = 4")
    code, _, err = ready("version", "2")
    assert code == 5
    assert "SF017" in err
    assert 'version = "1"' in Path("policy.toml").read_text()
    assert ready("policy", "accept")[0] == 2
    assert ready("policy", "accept", "--reason", " ")[0] == 2
    assert ready("policy", "accept", "--reason", "the board agreed")[0] == 0
    _, out, _ = ready("ledger", "list", "--format", "json")
    last = json.loads(out)[-1]
    assert last["kind"] == "policy"
    assert "the board agreed" in last["what"]
    assert json.loads(ready("budget", "--format", "json")[1])["left"]["epsilon"] == "4"


def test_protecting_others_needs_a_reason_too(ready: Run) -> None:
    edit('unit = "person_id"', 'unit = "age"')
    code, _, err = ready("version", "2")
    assert code == 5
    assert "SF017" in err
    assert ready("policy", "accept", "--reason", "the other column was wrong")[0] == 0
    assert ready("version", "2")[0] == 0


def test_schema_is_the_model(run: Run) -> None:
    assert json.loads(run("policy", "schema")[1]) == json_schema()


def test_version_keeps_everything_else(ready: Run) -> None:
    before = Path("policy.toml").read_text()
    os.chmod("policy.toml", 0o640)
    assert ready("version", 'the "second" \\ one')[0] == 0
    after = Path("policy.toml").read_text()
    assert Policy.load("policy.toml").version == 'the "second" \\ one'
    changed = [pair for pair in zip(before.splitlines(), after.splitlines(), strict=True) if pair[0] != pair[1]]
    assert len(changed) == 1
    assert changed[0][1].partition("#")[2] == changed[0][0].partition("#")[2] != ""
    assert Path("policy.toml").stat().st_mode & 0o777 == 0o640
    assert ready("version", 'the "second" \\ one')[0] == 2
    assert ready("version", " ")[0] == 2
    assert json.loads(ready("ledger", "verify", "--format", "json")[1])["records"] == 2


def test_a_policy_that_is_not_there(run: Run) -> None:
    for words in (("budget",), ("tables",), ("policy", "check"), ("ledger", "verify"), ("doctor",)):
        code, out, err = run(*words)
        assert code == 5, words
        assert "no policy at policy.toml" in out + err
        assert "sfumato init" in out + err


# tables, budget, ledger


def test_tables(ready: Run) -> None:
    code, out, err = ready("tables")
    assert code == 0
    assert "education" not in out
    assert "F, M" in out
    assert "protects each person" in err
    rows = json.loads(ready("tables", "--format", "json")[1])
    assert [row["column"] for row in rows] == ["sex", "age", "hours"]
    assert ready("tables", "--format", "csv")[1].splitlines()[0] == "table,column,type,range,grain,keys,null"
    assert "protège chaque personne" in ready("tables", "--lang", "fr")[2]


def test_budget_of_the_data_set_and_of_each_analyst(ready: Run) -> None:
    edit('accountant = "pure"', 'accountant = "pure"\nper_analyst = { default = 1, bob = 0.2 }')
    assert ready("policy", "accept", "--reason", "by analyst")[0] == 0
    spend("1/10", analyst="ana")
    spend("1/3", analyst="zoe", key="r")
    whole = json.loads(ready("budget", "--format", "json")[1])
    assert whole["spent"]["epsilon"] == "0.433334", "what was spent is rounded up"
    assert whole["left"]["epsilon"] == "2.56666", "what is left is rounded down"
    assert set(whole["analysts"]) >= {"ana", "bob", "zoe"}
    ana = json.loads(ready("budget", "--as", "ana", "--format", "json")[1])
    assert (ana["spent"]["epsilon"], ana["left"]["epsilon"], ana["cap"]["epsilon"]) == ("0.1", "0.9", "1")
    assert ana["dataset"]["spent"]["epsilon"] == "0.433334"
    bob = json.loads(ready("budget", "--as", "bob", "--format", "json")[1])
    assert bob["left"]["epsilon"] == "0.2"
    table = ready("budget")[1]
    assert "0.433334" in table
    assert "ana" in table
    assert ready("budget", "--format", "csv")[1].count("\n") >= 4


def test_what_is_left_of_all_binds_each(ready: Run) -> None:
    spend("29/10", analyst="ana")
    bob = json.loads(ready("budget", "--as", "bob", "--format", "json")[1])
    assert bob["left"]["epsilon"] == "0.1"


def test_budget_under_zcdp_is_rho_and_percent(run: Run) -> None:
    assert run(*INIT, "--accountant", "zcdp")[0] == 0
    cap = Policy.load("policy.toml").caps().total.amount
    spend(str(cap / 4))
    body = json.loads(run("budget", "--format", "json")[1])
    assert set(body["spent"]) == {"rho", "delta", "percent"}
    assert (body["spent"]["percent"], body["left"]["percent"]) == ("25.0", "75.0")
    assert "epsilon" not in run("budget")[1]


def test_questions_under_zcdp_from_end_to_end(run: Run, tmp_path: Path) -> None:
    """Asked, replayed, refined, refused and booked in rho: each price is what the budget says was spent."""
    assert run(*INIT, "--accountant", "zcdp")[0] == 0
    question = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
    prices = []
    for extra, epsilon in (("ask",), "0.5"), (("refine", "--paid", "0.5"), "0.7"):
        code, out, _ = run(extra[0], question, *extra[1:], "--epsilon", epsilon, "--format", "json")
        assert code == 0
        prices.append(Fraction(json.loads(out)["spent"]["rho"]))
    replay = json.loads(run("ask", question, "--epsilon", "0.5", "--format", "json")[1])
    assert replay["replayed"]
    assert Fraction(replay["spent"]["rho"]) == 0
    spent = Policy.load("policy.toml").ledger(Home.default()).totals().spent
    assert spent.failure == 0
    assert 0 <= sum(prices) - spent.amount < Fraction(1, 10**6)  # what is printed is rounded up
    code, _, err = run("ask", question, "--epsilon", "3")
    assert code == 4
    assert "SF003 this costs rho" in err
    french = run("budget", "--lang", "fr")[1]
    assert "dépensé rho" in french
    assert "0." not in french


def test_what_was_never_asked_is_not_refined(run: Run) -> None:
    """Two answers were bought, and one was reported: `--paid 50` charged 50 without a word."""
    assert run(*INIT)[0] == 0

    def spent() -> Fraction:
        return Policy.load("policy.toml").ledger(Home.default()).totals().spent.amount

    question = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
    refine = ("refine", question, "--paid", "0.5", "--epsilon", "0.7")
    code, out, err = run(*refine)
    assert (code, out) == (2, "")
    assert "nothing was charged" in err
    assert "ask it first" in err
    assert spent() == 0
    assert run("ask", question, "--epsilon", "0.5", "--as", "bob")[0] == 0
    assert (run(*refine)[0], run(*refine)[2]) == (2, err)  # nobody learns what others have asked
    assert spent() == Fraction(1, 2)
    code, out, _ = run(*refine, "--as", "bob", "--format", "json")
    assert (code, json.loads(out)["spent"]["epsilon"]) == (0, "0.7")
    assert spent() == Fraction(12, 10)
    assert json.loads(run(*refine, "--as", "bob", "--format", "json")[1])["replayed"]
    assert spent() == Fraction(12, 10)


def test_the_ledger_is_listed_verified_and_exported(ready: Run) -> None:
    spend("1/10")
    assert ready("freeze", "ana", "--reason", "a look")[0] == 0
    code, out, _ = ready("ledger", "list")
    assert code == 0
    assert [line.split()[2] for line in out.splitlines()[1:]] == ["genesis", "reserve", "freeze"]
    assert "how many" in out
    code, out, _ = ready("ledger", "verify")
    assert code == 0
    assert out.startswith("verified: 3 records")
    lines = [json.loads(line) for line in ready("ledger", "export")[1].splitlines()]
    assert [line["n"] for line in lines] == [1, 2, 3]
    assert [line["previous"] for line in lines[1:]] == [line["digest"] for line in lines[:-1]]


def test_a_changed_ledger_exits_with_six(ready: Run) -> None:
    spend("1/10")
    with sqlite3.connect("policy.ledger") as connection:
        connection.execute("UPDATE record SET body = replace(body, '1/10', '1/99') WHERE n = 2")
    connection.close()
    for words in (("ledger", "verify"), ("budget",), ("freeze",), ("doctor",)):
        code, out, err = ready(*words)
        assert code == 6, words
        assert "SF013" in out + err


def test_an_old_backup_put_back_is_noticed(ready: Run) -> None:
    assert ready("ledger", "backup", "old.ledger")[0] == 0
    assert ready("ledger", "backup", "old.ledger")[0] == 2, "a backup overwrites nothing"
    spend("1/10")
    for name in ("policy.ledger-wal", "policy.ledger-shm"):
        Path(name).unlink(missing_ok=True)
    os.replace("old.ledger", "policy.ledger")  # a file of its own: this process may still hold the other one open
    code, _, err = ready("ledger", "verify")
    assert code == 6
    assert "SF013" in err


def test_freeze_and_unfreeze(ready: Run) -> None:
    from sfumato.core import NotAllowed

    assert ready("freeze")[0] == 0
    with pytest.raises(NotAllowed):
        spend("1/10")
    assert ready("unfreeze")[0] == 0
    spend("1/10")


# purge, doctor, explain


def test_unfreezing_everyone_says_who_is_still_frozen(ready: Run) -> None:
    assert ready("freeze", "ana")[0] == 0
    assert ready("freeze")[0] == 0
    with pytest.raises(NotAllowed, match=r"`sfumato unfreeze` and `sfumato unfreeze ana`"):
        spend("1/10")
    assert "but everyone is: `sfumato unfreeze`" in ready("unfreeze", "ana")[2]
    ready("freeze", "ana")
    code, _, err = ready("unfreeze")
    assert code == 0
    assert "`sfumato unfreeze ana`" in err
    with pytest.raises(NotAllowed, match=r"with `sfumato unfreeze ana`"):
        spend("1/10")
    assert "encore" not in ready("unfreeze", "ana", "--lang", "fr")[2]
    spend("1/10")


def test_ingest_copies_and_purge_removes_copies_and_nothing_else(ready: Run) -> None:
    code, _, said = ready("ingest")
    assert code == 0
    [copy] = Home.default().copies()
    assert str(copy) in said
    assert str(copy) in ready("doctor")[1]
    assert ready("ingest", "nobody")[0] == 2
    code, out, _ = ready("purge")
    assert code == 0
    assert out.split() == [str(copy)]
    assert not copy.parent.exists()
    assert ready("ledger", "verify")[0] == 0
    assert Path("people.csv").exists()


def test_doctor_finds_what_is_wrong(ready: Run) -> None:
    assert ready("doctor")[0] == 0
    home = Home.default()
    os.chmod(home.key_file, 0o644)
    code, out, _ = ready("doctor")
    assert code == 6
    assert "chmod 600" in out
    os.chmod(home.key_file, 0o600)
    Path("people.csv").rename("away.csv")
    assert ready("doctor")[0] == 7
    Path("away.csv").rename("people.csv")
    edit("epsilon = 3", "epsilon = 4")
    code, out, _ = ready("doctor", "--lang", "fr")
    assert code == 5
    assert "SF017" in out
    Path("policy.ledger").unlink()
    assert ready("doctor")[0] == 6


def test_doctor_says_that_a_file_changed_under_its_version(ready: Run) -> None:
    question = ("ask", "SELECT COUNT(*) FROM people", "--epsilon", "0.1", "--as", "ana")
    assert ready("doctor")[0] == 0
    Path("people.csv").write_text(PEOPLE + "4,M,30,HS-grad,20\n")
    assert ready("doctor")[0] == 0, "looking remembers nothing: only a question does"
    assert ready(*question)[0] == 0
    Path("people.csv").write_text(PEOPLE)
    assert ready("ask", "SELECT COUNT(*) FROM people WHERE sex = 'F'", *question[2:])[0] == 3
    code, out, _ = ready("doctor")
    assert code == 5
    assert "SF019 a file of people changed" in out
    assert ready("version", "2")[0] == 0
    assert ready("doctor")[0] == 0


def test_a_new_version_is_in_the_books_by_its_word(ready: Run) -> None:
    assert ready("version", "2026-12")[0] == 0
    last = json.loads(ready("ledger", "list", "--format", "json")[1])[-1]
    assert "version: 2026-12" in last["what"]
    assert ready("ledger", "verify")[0] == 0


def test_a_sql_file_that_is_not_there_is_a_matter_of_usage(ready: Run) -> None:
    code, _, err = ready("ask", "nowhere.sql", "--epsilon", "0.1")
    assert (code, "nowhere.sql" in err) == (2, True)


def test_more_dummy_rows_than_fit_are_refused(ready: Run) -> None:
    code, _, err = ready("dummy", "--table", "people", "--rows", "10000000000")
    assert (code, "1,000,000" in err) == (2, True)
    assert ready("dummy", "--table", "people", "--rows", "10")[0] == 0


def test_a_process_may_go_elsewhere_after_it_opened_a_policy(
    ready: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sfumato.curator.dataset import open_dataset
    from sfumato.curator.ingest import Copies

    session = open_dataset("policy.toml").session("ana")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert session.ask("SELECT COUNT(*) FROM people", epsilon="0.1").rows
    monkeypatch.chdir(tmp_path)
    assert ready("ingest", "people")[0] == 0
    data = open_dataset("policy.toml")
    _, ingested = Copies(data.policy, data.home).sources(data.policy.sources())
    assert list(ingested) == ["people"], "a copy that was made under the relative name is found again"


CODES = [f"SF{n:03}" for n in range(1, 23)]


@pytest.mark.parametrize("lang", ["en", "fr"])
def test_every_code_has_its_story(run: Run, lang: str) -> None:
    listed = [row["code"] for row in json.loads(run("explain", "--format", "json", "--lang", lang)[1])]
    assert listed == CODES
    for code in CODES:
        exits, out, _ = run("explain", code.lower(), "--lang", lang)
        assert exits == 0
        assert out.startswith(code)
        assert len(out) > 200
    assert run("explain", "SF023")[0] == 2


def test_every_code_that_is_raised_is_told() -> None:
    import sfumato

    raised = {
        code
        for path in Path(sfumato.__file__).parent.rglob("*.py")
        if "stories" not in path.parts
        for code in re.findall(r'"(SF\d{3})"', path.read_text())
    }
    assert raised
    assert raised <= set(CODES)


def test_the_languages_tell_the_same_stories() -> None:
    from sfumato.apps.cli.stories import stories

    english, french = stories("en"), stories("fr")
    assert list(english) == list(french)
    for code, story in english.items():
        assert story.title != french[code].title


def test_the_language_comes_from_the_environment(ready: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "fr_FR.UTF-8")
    assert "correcte" in ready("policy", "check")[1]
    assert ": ok" in ready("policy", "check", "--lang", "en")[1]
    monkeypatch.setenv("LC_ALL", "C")
    assert ": ok" in ready("policy", "check")[1]


MINE = (
    "init",
    "policy",
    "version",
    "tables",
    "budget",
    "ledger",
    "freeze",
    "unfreeze",
    "ingest",
    "purge",
    "explain",
    "doctor",
)


@pytest.mark.parametrize("name", MINE)
def test_every_command_has_its_help(run: Run, name: str) -> None:
    assert name in COMMANDS
    code, out, _ = run(name, "--help")
    assert code == 0
    assert len(out.splitlines()) > 5
