"""A release is charged whole or not at all, replays for ever, and its certificate says everything and cannot be changed."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from sfumato.core.canonical import canonical
from sfumato.core.errors import (
    BadInput,
    BadPolicy,
    BudgetExceeded,
    EngineFailed,
    LedgerDamaged,
    NotAllowed,
    NotSupported,
    SfumatoError,
)
from sfumato.curator.certificate.certificate import Certificate
from sfumato.curator.certificate.odds import belief, guess
from sfumato.curator.certificate.tight import tight
from sfumato.curator.certificate.verify import in_ledger, of_policy, verify
from sfumato.curator.dataset import Dataset, open_dataset
from sfumato.curator.home import Home
from sfumato.curator.ledger.records import Charge, Kind
from sfumato.curator.policy import Policy
from sfumato.curator.release.folder import write_folder
from sfumato.curator.release.publication import Publication
from sfumato.curator.release.shares import divided
from sfumato.mechanisms import Gaussian, Laplace

from .conftest import POLICY, Make, rows

PLAIN = {"accountant": "pure", "max_rows": 1, "per_analyst": "", "neighbours": "add-remove"}
ROOT = Path(__file__).parent.parent.parent


def published(data: Dataset, **terms: Any) -> Publication:
    publication = data.publish(**{"epsilon": "1", "name": "bulletin", "edition": "2026-11"} | terms)
    publication.counts("sex", share=2)
    publication.means("hours", by="sex")
    return publication


def spent(data: Dataset) -> Fraction:
    return data.ledger.totals().spent.amount


def test_the_lines_of_the_guide(make: Make, tmp_path: Path) -> None:
    """The certificate is asked for inside the block: that closes the list, and the end of the block charges nothing more."""
    data = make()
    with data.publish(epsilon=1, delta="1e-6") as p:
        p.histogram("age", method="privelet")
        p.quantiles("age", [0.1, 0.5, 0.9])
        p.certificate.save(tmp_path / "certificate.json")
        with pytest.raises(BadInput, match="exists already"):
            p.counts("sex")
    assert spent(data) == 1
    found = verify(tmp_path / "certificate.json")
    assert (found.files, found.unnamed) == (0, ())
    assert set(found.certificate.body["tables"]) == {"histogram-age", "quantiles-age"}


# One budget, all or nothing.


def test_a_batch_is_charged_the_sum_of_its_losses_in_one_transaction(make: Make) -> None:
    data = make()
    before = data.ledger.position().n
    with published(data) as p:
        assert spent(data) == 0, "nothing is charged while products are named"
    assert spent(data) == 1
    kinds = [record.kind for record in data.ledger.history()][before:]
    assert kinds == [Kind.RESERVE] * 3 + [Kind.COMMIT] * 3, "every charge before the first answer"
    charges = [record.body["total"]["amount"] for record in data.ledger.history() if record.kind is Kind.RESERVE]
    assert charges == ["2/3", "1/3", "0"]
    assert p.release().charged == Charge(Fraction(1))


def test_an_error_in_the_block_charges_nothing(make: Make) -> None:
    data = make()
    with pytest.raises(NotSupported), published(data) as p:
        p.means("notes")
    assert spent(data) == 0
    assert data.ledger.position().n == 1


def test_a_short_budget_charges_and_writes_nothing(make: Make, tmp_path: Path) -> None:
    data = make(epsilon="0.9")
    with pytest.raises(BudgetExceeded) as refused:
        published(data).save(tmp_path / "out")
    assert (refused.value.cost, refused.value.left, refused.value.code) == ("1", "0.9", "SF003")
    assert "epsilon 0.9 in all would fit" in refused.value.hint
    assert spent(data) == 0
    assert data.ledger.position().n == 1, "not one of its parts was charged"
    assert not list(tmp_path.glob("out*"))
    assert not list(tmp_path.glob(".out*"))


@pytest.mark.slow
def test_the_same_release_replays_and_another_under_its_name_is_refused(make: Make, tmp_path: Path) -> None:
    data = make()
    first = published(data).release()
    again = published(data).release()
    assert again.replayed
    assert not first.replayed
    assert again.charged == Charge()
    assert again.files == first.files, "byte for byte"
    changed = published(data)
    changed.counts("age", where="age < 5")
    with pytest.raises(BadInput, match="published already with other contents"):
        changed.release()
    assert spent(data) == 1


def test_a_question_and_a_product_share_one_charge(make: Make) -> None:
    data = make()
    answer = data.session("owner").ask("SELECT sex, COUNT(*) AS count FROM people GROUP BY sex", epsilon="0.5")
    with data.publish(epsilon="0.5", name="one") as p:
        p.counts("sex")
    assert spent(data) == Fraction(1, 2)
    (table,) = p.release().tables.values()
    assert [row["count_unbiased"] for row in table.rows] == [row["count_unbiased"] for row in answer.rows]


def test_a_later_edition_says_what_it_supersedes_and_why(make: Make) -> None:
    data = make()
    published(data).release()
    with pytest.raises(BadInput, match="for a reason"):
        published(data, edition="2026-11b", supersedes="2026-11").release()
    with pytest.raises(BadInput, match="no edition 2026-10"):
        published(data, edition="2026-11b", supersedes="2026-10", reason="none").release()
    later = published(data, edition="2026-11b", supersedes="2026-11", reason="hours were miscoded").release()
    said = later.certificate.body["release"]["supersedes"]
    assert (said["edition"], said["reason"]) == ("2026-11", "hours were miscoded")
    assert said["id"] == published(data).release().id


def test_new_rows_do_not_come_out_under_an_old_edition(make: Make, tmp_path: Path) -> None:
    data = make()
    published(data).release()
    path = tmp_path / "policy.toml"
    path.write_text(path.read_text().replace('version = "1"', 'version = "2"'))
    later = open_dataset(path, {"people": rows()}, home=data.home)
    with pytest.raises(BadInput, match="of rows 1"):
        published(later).release()


def test_the_certificate_says_when_nothing_was_moved(make: Make) -> None:
    with make(answers="[answers]\npost_process = []\n").publish(epsilon=1) as p:
        p.histogram("sex")
    assert "a count may be negative" in p.certificate.body["bias"]["en"]
    assert "peut être négatif" in p.certificate.body["bias"]["fr"]


@pytest.mark.parametrize("accountant", ["pure", "zcdp"])
def test_shares_never_add_up_to_more_than_the_whole(make: Make, accountant: str) -> None:
    data = make(accountant=accountant)
    shares = [Fraction(1), Fraction(3), Fraction(1, 2)]
    prices = divided(data.budget, Fraction(1), shares)
    assert prices[1] > prices[0] > prices[2] > 0
    whole = data.session().preview("SELECT COUNT(*) AS n FROM people", epsilon=1).charge.amount
    parts = [
        data.session().preview("SELECT COUNT(*) AS n FROM people", epsilon=price).charge.amount for price in prices
    ]
    assert sum(parts) <= whole
    assert sum(parts) > whole * Fraction(999, 1000), "and not to much less"


def test_what_is_named_twice_or_not_at_all_is_refused(make: Make) -> None:
    data = make()
    with pytest.raises(BadInput, match="no product"):
        data.publish(epsilon=1).release()
    p = published(data)
    with pytest.raises(BadInput, match="two products"):
        p.counts("sex")
    with pytest.raises(BadInput, match="part of a file's name"):
        data.publish(epsilon=1, name="../x")
    with pytest.raises(NotSupported, match="no public list"):
        p.counts("notes")
    p.release()
    with pytest.raises(BadInput, match="exists already"):
        p.counts("age")


# Its tables.


def test_tables_carry_bars_unbiased_values_and_scales(make: Make) -> None:
    data = make()
    tables = published(data).release().tables
    counts = tables["counts-sex"]
    read = list(csv.DictReader(io.StringIO(counts.csv())))
    assert list(read[0]) == ["sex", "count", "count_low", "count_high", "count_unbiased", "count_scale"]
    for row in read:
        scale = float(row["count_scale"])
        assert scale == 1.5, "a count at epsilon 2/3"
        assert float(row["count_low"]) < float(row["count_unbiased"]) < float(row["count_high"])
        truth = {"F": 666, "M": 334}[row["sex"]]
        # Discrete Laplace of scale 1.5 is beyond 60 with probability below e^-40.
        assert abs(float(row["count_unbiased"]) - truth) < 60
        assert int(row["count"]) == round(float(row["count_unbiased"]))
    arrow = tables["means-hours-sex"].to_arrow()
    assert [str(field.type) for field in arrow.schema] == ["string", "int64", *["double"] * 4, *["double"] * 5]
    assert arrow.column("hours_scale").null_count == 0


def test_marginals_are_a_table_for_each_pair(make: Make) -> None:
    data = make()
    with data.publish(epsilon=1, name="pairs") as p:
        p.marginals(["sex", "age"], ways=1, where="age < 10", name="one")
    release = p.release()
    assert set(release.tables) == {"one-sex", "one-age"}
    assert spent(data) == 1
    assert len(release.tables["one-age"].rows) == 101


def test_quantiles_are_rows_with_their_ranks(make: Make) -> None:
    data = make()
    with data.publish(epsilon=10, name="ages") as p:
        p.quantiles("age", ["0.25", "0.5", "0.75"], by="sex")
        p.quantiles("age", ["0.5"], name="median")
    tables = p.release().tables
    read = list(csv.DictReader(io.StringIO(tables["quantiles-age-sex"].csv())))
    assert [(row["sex"], row["quantile"]) for row in read[:3]] == [("F", "0.25"), ("F", "0.5"), ("F", "0.75")]
    (median,) = tables["median"].rows
    # Ages are i % 90 for 1000 rows, so ranks within 100 rows of the middle are ages 35 to 55; at epsilon 5 on a hundred
    # places a draw further out has probability below 101 exp(-5 * 100 / 4) < 1e-50.
    assert 35 <= median["age"] <= 55
    assert median["age_rank_rows"] > 0
    said = {product["name"]: product["tables"][0] for product in p.certificate.body["products"]}
    assert said["median"]["ranks"]["age"]["quantiles"] == ["0.5"]
    with pytest.raises(NotSupported, match="a list of quantiles"), data.publish(epsilon=1, name="other") as q:
        q.question("SELECT QUANTILE(age, 0.1, 0.9) AS age FROM people", name="x")


@pytest.mark.parametrize(
    ("method", "mechanism"), [("flat", "Laplace"), ("privelet", "LaplaceHistogram"), ("best", "LaplaceHistogram")]
)
def test_histograms_by_method(make: Make, method: str, mechanism: str) -> None:
    data = make()
    with data.publish(epsilon=1, name="ages") as p:
        p.histogram("age", method=method)
    assert spent(data) == 1
    (table,) = p.release().tables.values()
    assert len(table.rows) == 101
    (product,) = p.certificate.body["products"]
    (noise,) = product["tables"][0]["noise"]
    assert noise["mechanism"] == mechanism
    assert "Proof" not in noise["proof"]
    assert noise["proof"]
    assert ("Haar 101" in noise["parameters"].get("strategy", "")) == (method == "privelet")


def test_histograms_between_public_edges(make: Make) -> None:
    data = make()
    with data.publish(epsilon=1, name="ages") as p:
        p.histogram("age", edges=[0, 18, 65, 100], by="sex", name="bins")
        p.histogram("age", edges=[0, 18, 65, 100], method="privelet", name="waves")
    assert [row["age"] for row in p.release().tables["waves"].rows] == ["[0, 18)", "[18, 65)", "[65, 100]"]
    assert len(p.release().tables["bins"].rows) == 6
    with pytest.raises(BadInput, match="no method for this histogram"), data.publish(epsilon=1, name="b") as q:
        q.histogram("age", method="magic")
    assert spent(data) == 1


# Its certificate.


def test_every_field_of_the_list(make: Make) -> None:
    """EXPERIENCE 6, line by line."""
    data = make(accountant="pure")
    data.ledger.unprotected("exact counts by town, annual report 2025")
    with published(data, title="Hours", issuer="The Office", public=["the questionnaire"]) as p:
        pass
    body = p.certificate.body
    reserve = next(each for each in data.ledger.history() if "release" in each.body.get("what", {}))
    assert body["id"] == f"r-{reserve.n:06d}"
    assert body["issued"] == reserve.body["at"]
    assert body["issuer"] == {"name": "The Office", "contact": ""}
    assert body["product"]["name"] == "sfumato"
    assert body["product"]["version"]
    assert body["dataset"] == {"id": "d-test", "name": "people", "version": "1", "policy": data.policy.digest}
    assert body["protects"] == {
        "unit": "person",
        "max_rows": "1",
        "max_rows_is_fact": False,
        "neighbours": "add-remove",
    }
    guarantee = body["guarantee"]
    assert (guarantee["variant"], guarantee["epsilon"], guarantee["delta"]) == (
        "epsilon-differential privacy",
        "1",
        "0",
    )
    assert guarantee["charged"] == {"epsilon": "1", "delta": "0"}
    assert "73.2 %" in guarantee["odds"]["en"]
    assert "73,2\u202f%" in guarantee["odds"]["fr"]
    noise = body["products"][0]["tables"][0]["noise"][0]
    assert noise["mechanism"] == "Laplace"
    assert noise["parameters"]["scale"] == str(Fraction(3, 2) * 2**20)
    assert noise["sensitivity"]["l1"] == str(2**20)
    assert noise["granularity"] == "whole cells"
    assert "exp(-|k| grain / scale)" in noise["law"]
    assert "Ghosh" in noise["proof"]
    assert body["ledger"]["accountant"] == "pure"
    assert body["ledger"]["position"] == {"n": str(reserve.n), "digest": reserve.digest}
    assert int(body["ledger"]["head"]["n"]) >= reserve.n
    assert body["ledger"]["since"] == next(data.ledger.history()).body["at"]
    assert body["ledger"]["spent"] == {"epsilon": "1", "delta": "0"}
    assert body["ledger"]["cap"] == {"epsilon": "10", "delta": "1e-6"}
    counts, means = (product["tables"][0] for product in body["products"])
    assert counts["keys"] == [{"of": ["sex"], "keys": "public", "values": 2, "null": False}]
    assert means["clipping"][0] == {"of": ["hours"], "low": "0", "high": "99", "step": means["clipping"][0]["step"]}
    assert counts["counted"] == "people, at most 1 per person"
    assert body["rows"] == {"count": "private", "declared": "1000000"}
    (bar,) = counts["accuracy"]
    assert (bar["column"], bar["confidence"]) == ("count", "0.95")
    assert 4.4 < float(bar["most"]) < 4.6, "1.5 ln 20"
    assert "noise" in body["covers"]["en"]
    assert "_unbiased" in body["bias"]["fr"]
    assert "moved to what is possible" in body["bias"]["en"]
    assert "sfumato audit --record" in body["audit"]["says"]
    assert body["also_public"]["unprotected"][0].endswith("exact counts by town, annual report 2025")
    assert body["also_public"]["declared"] == ["the questionnaire"]
    assert set(body["tables"]) == {"counts-sex", "means-hours-sex"}
    assert any("learning facts about groups" in said for said in body["limits"]["en"])
    assert len(body["limits"]["en"]) == len(body["limits"]["fr"])
    assert body["signer"]["algorithm"] == "Ed25519"
    assert p.certificate.holds()


@pytest.mark.parametrize("accountant", ["pure", "zcdp"])
def test_certificates_follow_the_schema(make: Make, accountant: str) -> None:
    schema = json.loads((ROOT / "docs" / "certificate.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    release = published(make(accountant=accountant)).release()
    body = json.loads(release.certificate.text())
    jsonschema.validate(body, schema)
    for name in body:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({key: value for key, value in body.items() if key != name}, schema)


def test_no_hash_of_the_data_is_in_a_certificate(make: Make) -> None:
    """Two data sets that differ by a person, under one policy: all that differs are noise, time, position and signature."""
    data = make()
    body = published(data).release().body
    text = canonical({key: value for key, value in body.items() if key not in {"ledger", "issued", "id"}})
    found = set(re.findall(r"[0-9a-f]{64}", text))
    assert found == {data.policy.digest}


def test_the_digest_of_the_audit_is_named(make: Make) -> None:
    from sfumato.core.canonical import digest
    from sfumato.curator.certificate.body import installed

    data = make()
    found = {
        "version": installed(),
        "at": "2026-11-19",
        "confidence": "0.999",
        "mechanisms": [{"mechanism": "Laplace", "passed": True}, {"mechanism": "Gaussian", "passed": False}],
    }
    data.home.audit_file.write_text(canonical(found))
    audit = published(data).certificate.body["audit"]
    assert audit["digest"] == digest(found)
    assert "2 mechanisms attacked, caught: Gaussian" in audit["says"]


def test_the_guarantee_is_the_tight_one(make: Make) -> None:
    """Two hundred small Laplace releases: composition says much less than their sum, and the certificate says which."""
    losses = [Laplace(scale=20).loss(1)] * 200
    epsilon, delta, how = tight(losses, "1e-6")
    assert how == "numeric composition of the losses"
    assert 1e-6 <= delta < 1.000001e-6
    assert epsilon < 4 < 10
    assert tight(losses, 0) == (10.0, 0.0, "sum of the losses")
    few = [Laplace(scale=1).loss(1)] * 2
    assert tight(few, "1e-9")[0] <= 2
    with pytest.raises(BadInput, match="publish with a delta"):
        tight([Gaussian(sigma=3).loss(1)], 0)


def test_under_replace_the_words_are_about_records(make: Make) -> None:
    body = published(make(neighbours="replace")).certificate.body
    assert "which of two records a person has" in body["guarantee"]["odds"]["en"]
    assert "lequel de deux enregistrements a une personne" in body["guarantee"]["odds"]["fr"]
    assert "number of units is public" in body["rows"]["count"]
    assert body["protects"]["neighbours"] == "replace"
    assert body["products"][0]["tables"][0]["noise"][0]["sensitivity"]["l1"] == str(2 * 2**20)


def test_a_delta_too_small_for_numeric_composition(make: Make) -> None:
    losses = [Gaussian(sigma=20).loss(1)] * 3 + [Gaussian(sigma=30).loss(2)]
    epsilon, delta, how = tight(losses, "1e-12")
    assert how == "sum of the rhos"
    assert 0.3 < epsilon < 2
    assert delta <= 1.0000001e-12


def test_under_zcdp_the_certificate_states_its_own_epsilon(make: Make) -> None:
    data = make(accountant="zcdp")
    body = published(data, epsilon="2").certificate.body
    assert body["guarantee"]["variant"] == "(epsilon, delta)-differential privacy"
    assert body["guarantee"]["accounting"] == "numeric composition of the losses"
    assert 1 < float(body["guarantee"]["epsilon"]) <= 2
    assert body["ledger"]["unit"] == "rho"
    assert set(body["guarantee"]["charged"]) == {"rho", "delta"}


def test_odds_in_plain_words() -> None:
    assert 0.5 <= guess(0, 0) <= 0.501
    assert guess(1, 0) == 0.732, "e / (1 + e) = 0.73106, rounded up"
    assert guess(1, 0.1) == 0.758
    assert guess(float("inf"), 0) == guess(800, 0) == 1
    assert belief(Fraction(1, 100), 1) == 0.027
    assert belief(Fraction(1, 2), 0) == pytest.approx(0.5, abs=0.0011)


def test_the_odds_are_reached_and_never_passed() -> None:
    """The best guesser against randomised response of epsilon 1, which is the worst mechanism there is, exactly."""
    right = float(Fraction(271828, 371828))
    assert right <= guess(1, 0) < right + 0.0012


# Files and signatures.


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release on the disk, for tests that change copies of it."""
    place = tmp_path_factory.mktemp("release")
    path = place / "policy.toml"
    path.write_text(POLICY.format(epsilon=10, **PLAIN))
    home = Home(place / "home")
    Policy.load(path).new_ledger(home)
    return published(open_dataset(path, {"people": rows()}, home=home)).save(place / "out")


def test_a_release_on_the_disk_verifies(folder: Path) -> None:
    names = {each.name for each in folder.iterdir()}
    stems = {"counts-sex", "means-hours-sex"}
    files = {f"{stem}{end}" for stem in stems for end in (".csv", ".parquet", ".svg")}
    assert names == files | {"certificate.json", "certificate.html", "certificate.fr.html"}
    found = verify(folder / "certificate.json")
    assert found.files == len(names) - 1
    assert found.unnamed == ()
    key = folder.parent / "home" / "signing.pem"
    assert key.stat().st_mode & 0o777 == 0o600
    assert found.certificate.signer == published_signer(folder)


def published_signer(folder: Path) -> str:
    from sfumato.curator.certificate.signing import Signer

    return Signer.of(Home(folder.parent / "home")).fingerprint


def test_any_byte_changed_in_any_file_is_found_and_said(folder: Path) -> None:
    """The first, the last and a middle byte of every file; every byte of the certificate is the next test's."""
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        for place in {0, len(content) // 2, len(content) - 1}:
            path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
            with pytest.raises(LedgerDamaged, match=re.escape(path.name)):
                verify(folder / "certificate.json")
        path.write_bytes(content)
    verify(folder / "certificate.json")


def test_a_missing_file_is_said_and_a_new_one_is_no_part(folder: Path) -> None:
    path = folder / "counts-sex.csv"
    content = path.read_bytes()
    path.unlink()
    with pytest.raises(LedgerDamaged, match=r"counts-sex\.csv is missing"):
        verify(folder / "certificate.json")
    path.write_bytes(content)
    (folder / "notes.txt").write_text("mine")
    assert verify(folder / "certificate.json").unnamed == ("notes.txt",)
    (folder / "notes.txt").unlink()


@pytest.mark.slow
def test_every_byte_of_a_certificate_counts(folder: Path) -> None:
    text = (folder / "certificate.json").read_bytes()
    Certificate.parse(text)
    for place in range(len(text)):
        broken = bytearray(text)
        broken[place] ^= 1 << (place % 7)
        with pytest.raises(LedgerDamaged):
            Certificate.parse(bytes(broken))
    for other in (text + b"\n", text[:-1], b" " + text, b""):
        with pytest.raises(LedgerDamaged):
            Certificate.parse(other)


def test_a_certificate_signed_again_has_another_fingerprint(folder: Path, tmp_path: Path) -> None:
    """Who changes the body must sign with a key of their own, and the fingerprint gives them away."""
    from sfumato.curator.certificate.signing import Signer

    body = json.loads((folder / "certificate.json").read_text())
    forged = {key: value for key, value in body.items() if key not in {"signature", "signer", "files"}}
    forged["guarantee"]["epsilon"] = "0.01"
    certificate = Certificate.signed(forged, Signer.of(Home(tmp_path / "mallory")), files={})
    assert certificate.holds()
    assert certificate.signer != Certificate.read(folder / "certificate.json").signer
    named = {**certificate.body, "signer": {**certificate.body["signer"], "fingerprint": body["signer"]["fingerprint"]}}
    assert not Certificate(named).holds()


def test_a_signed_certificate_without_its_parts_is_refused(folder: Path, tmp_path: Path) -> None:
    """Whoever has a key can sign anything: what is missing, or names files elsewhere, is said and never a traceback."""
    from sfumato.curator.certificate.signing import Signer

    mallory = Signer.of(Home(tmp_path / "mallory"))
    body = json.loads((folder / "certificate.json").read_text())
    unsigned = {key: value for key, value in body.items() if key not in {"signature", "signer", "files"}}
    for name in unsigned:
        less = Certificate.signed({key: value for key, value in unsigned.items() if key != name}, mallory, files={})
        with pytest.raises(LedgerDamaged):
            Certificate.parse(less.text())
    for files in ({"../policy.toml": b"1"}, {"/etc/passwd": b"1"}):
        with pytest.raises(LedgerDamaged):
            Certificate.parse(Certificate.signed(unsigned, mallory, files=files).text())
    hollow = Certificate.signed(dict.fromkeys(unsigned, "x") | {"format": body["format"]}, mallory, files={})
    for form in ("text", "html", "aipd"):
        with pytest.raises(LedgerDamaged, match="does not hold"):
            Certificate.parse(hollow.text()).show(form=form)


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b"\xff", b'{"format":"sfumato-certificate/1"}', b"[" * 100_000])
def test_what_is_no_certificate_is_refused_in_words(text: bytes) -> None:
    with pytest.raises(LedgerDamaged):
        Certificate.parse(text)


def test_a_certificate_of_another_policy_is_refused(folder: Path, tmp_path: Path) -> None:
    certificate = Certificate.read(folder / "certificate.json")
    mine = folder.parent / "policy.toml"
    of_policy(certificate, Policy.load(mine))
    in_ledger(certificate, Policy.load(mine).ledger(Home(folder.parent / "home")))
    other = tmp_path / "policy.toml"
    other.write_text(mine.read_text().replace("d-test", "d-other"))
    with pytest.raises(BadPolicy, match="about the data set d-test"):
        of_policy(certificate, Policy.load(other))
    other.write_text(mine.read_text().replace("range = [0, 99]", "range = [0, 98]"))
    with pytest.raises(BadPolicy, match="another policy of this data set"):
        of_policy(certificate, Policy.load(other))
    forged = dataclasses.replace(certificate, body=json.loads(json.dumps(certificate.body)))
    forged.body["ledger"]["position"]["digest"] = "0" * 64
    with pytest.raises(LedgerDamaged, match="no such release"):
        in_ledger(forged, Policy.load(mine).ledger(Home(folder.parent / "home")))


def test_pages_in_two_languages(folder: Path) -> None:
    certificate = Certificate.read(folder / "certificate.json")
    body = certificate.body
    for lang, form in (("en", "text"), ("fr", "text"), ("en", "html"), ("fr", "html"), ("fr", "aipd"), ("en", "aipd")):
        page = certificate.show(form=form, lang=lang)
        flat = " ".join(page.replace("&#x27;", "'").split())
        assert "None" not in flat
        for said in body["limits"][lang]:
            assert " ".join(said.split()) in flat
        assert body["id"] in flat
    assert (folder / "certificate.html").read_text().count("<script") == 0
    assert 'lang="fr"' in (folder / "certificate.fr.html").read_text()
    assessment = certificate.show(form="aipd", lang="fr")
    for word in ("Individualisation", "Corrélation", "Inférence", "73,2"):
        assert word in assessment


def test_charts_say_what_they_show(folder: Path) -> None:
    drawn = (folder / "counts-sex.svg").read_text()
    assert 'role="img"' in drawn
    assert re.search(r'aria-label="[^"]*with error bars: F \d', drawn)
    assert "<desc>" in drawn
    assert "#0072B2" in drawn


# Folders appear whole.


def test_a_folder_that_holds_anything_else_is_left_alone(make: Make, tmp_path: Path) -> None:
    data = make()
    place = tmp_path / "out"
    place.mkdir()
    (place / "thesis.txt").write_text("mine")
    with pytest.raises(BadInput, match="exists and is not this release"):
        published(data).save(place)
    assert [each.name for each in place.iterdir()] == ["thesis.txt"]
    other = published(data).save(tmp_path / "good")
    assert published(data).save(other) == other, "the same release again changes nothing"
    (other / "counts-sex.csv").write_text("forged")
    with pytest.raises(BadInput, match="not all of it"):
        published(data).save(other)
    assert spent(data) == 1


def test_a_place_that_cannot_be_written_is_said(make: Make, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with pytest.raises(BadInput, match="cannot be written"):
        published(make()).save(blocked / "out")


def test_nobody_ever_sees_half_a_folder(tmp_path: Path) -> None:
    """Someone who looks all the time sees no folder, and then all of its two hundred files."""
    from threading import Event, Thread

    out, seen, done = tmp_path / "out", set(), Event()

    def look() -> None:
        while not done.is_set():
            if out.exists():
                seen.add(len(list(out.iterdir())))

    looker = Thread(target=look)
    looker.start()
    write_folder(out, {f"file-{i}": b"1" for i in range(200)})
    time.sleep(0.05)
    done.set()
    looker.join()
    assert seen == {200}
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_a_draft_is_renamed_or_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BadInput, match="cannot be written"):
        write_folder(tmp_path / "out", {"a": b"1"})
    assert not list(tmp_path.iterdir())


KILLED = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    import pyarrow as pa
    from sfumato.curator.dataset import open_dataset
    from sfumato.curator.home import Home
    place = Path(sys.argv[1])
    count = 300
    table = pa.table({"person_id": list(range(count)), "sex": ["F"] * count, "age": [i % 90 for i in range(count)],
                      "hours": [float(i % 60) for i in range(count)], "notes": list(range(count))})
    data = open_dataset(place / "policy.toml", {"people": table}, home=Home(place / "home"))
    print("ready", flush=True)
    with data.publish(epsilon=sys.argv[3], delta="1e-6", name="bulletin", edition=sys.argv[2]) as p:
        for age in range(5):
            p.counts("sex", where=f"age > {age}", name=f"part-{age}")
    p.save(place / "out" / sys.argv[2])
    print("done", flush=True)
    """
)


def _killed(place: Path, edition: str, epsilon: str, after: float) -> bool:
    """Run a release and kill it so many seconds after it began; whether it was done by then."""
    words = [sys.executable, "-c", KILLED, str(place), edition, epsilon]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=place)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(after)
    os.kill(process.pid, signal.SIGKILL)
    return "done" in process.communicate()[0]


def _killed_anywhere(place: Path, moments: list[float]) -> int:
    """However often it is killed: no half folder, one charge, and the next run ends it."""
    path = place / "policy.toml"
    path.write_text(POLICY.format(epsilon=100, **PLAIN))
    home = Home(place / "home")
    Policy.load(path).new_ledger(home)
    finished, spent_so_far = 0, Fraction(0)
    for number, moment in enumerate(moments):
        edition, out, epsilon = f"e{number}", place / "out" / f"e{number}", f"1.{number:03}"
        spent_so_far += Fraction(epsilon)
        finished += _killed(place, edition, epsilon, moment)
        if out.exists():
            verify(out / "certificate.json")
        words = [sys.executable, "-c", KILLED, str(place), edition, epsilon]
        done = subprocess.run(words, capture_output=True, text=True, cwd=place)
        assert done.returncode == 0, done.stderr
        verify(out / "certificate.json")
        ledger = Policy.load(path).ledger(home)
        assert ledger.totals().spent.amount == spent_so_far, "each edition has a price of its own, paid once"
        assert not [each for each in (place / "out").iterdir() if each.name.startswith(".")], "drafts are swept"
    return finished


@pytest.mark.slow
def test_killed_at_any_moment_nothing_is_half_written_or_charged_twice(tmp_path: Path) -> None:
    _killed_anywhere(tmp_path, [0.15, 2.0])


@pytest.mark.torture
def test_killed_at_sixteen_moments(tmp_path: Path, record_property: Any) -> None:
    finished = _killed_anywhere(tmp_path, [0.05 + 0.3 * each for each in range(16)])
    record_property("kills", 16 - finished)


def test_a_source_that_fails_after_the_charge_is_taken_up_later(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = make()
    exact, calls = Dataset.exact, []

    def failing(self: Dataset, bounded: Any) -> Any:
        calls.append(bounded)
        if len(calls) == 2:
            raise EngineFailed("the source failed", hint="look at it")
        return exact(self, bounded)

    monkeypatch.setattr(Dataset, "exact", failing)
    with pytest.raises(EngineFailed):
        published(data).save(tmp_path / "out")
    assert spent(data) == 1, "a charge is never given back"
    assert not (tmp_path / "out").exists()
    assert data.ledger.totals().frozen == ("owner",)
    with pytest.raises(NotAllowed):
        published(data).save(tmp_path / "out")
    data.ledger.freeze("owner", frozen=False, reason="looked at")
    published(data).save(tmp_path / "out")
    assert spent(data) == 1, "what was charged before is computed at no further charge"
    assert len(calls) == 3, "what was stored before is not computed again"
    verify(tmp_path / "out" / "certificate.json")


@pytest.mark.slow
def test_two_at_once_publish_the_same(make: Make, tmp_path: Path) -> None:
    """Two threads run one edition into one folder: one charge, one release, and both have it."""
    from concurrent.futures import ThreadPoolExecutor

    data = make()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: published(data).release(), range(4)))
    assert spent(data) == 1
    assert len({each.id for each in found}) == 1
    assert all(each.files == found[0].files for each in found)
    assert found[0].save(tmp_path / "out") == found[1].save(tmp_path / "out")


def test_releases_are_listed_with_what_stands_for_them(make: Make) -> None:
    from sfumato.curator.release.history import releases

    data = make()
    published(data).release()
    published(data, edition="2026-11b", supersedes="2026-11", reason="hours were miscoded").release()
    found = [each.row() for each in releases(data.ledger)]
    assert [(each["edition"], each["superseded"]) for each in found] == [
        ("2026-11", "2026-11b: hours were miscoded"),
        ("2026-11b", ""),
    ]


# Without protection.


def test_what_was_released_without_protection_is_said_for_ever(make: Make) -> None:
    data = make()
    before = data.ledger.totals()
    assert "unprotected" not in before.to_json(), "heads that were signed before the word existed still hold"
    data.ledger.unprotected("exact  counts\nby town")
    after = data.ledger.totals()
    assert after.unprotected[0].endswith(" exact counts by town")
    assert (after.spent, after.books) == (before.spent, before.books)
    data.ledger.verify()
    for text in ("", " ", "x" * 501):
        with pytest.raises(BadInput):
            data.ledger.unprotected(text)
    page = published(data).certificate.show(lang="fr")
    assert "Publié sans protection" in page
    assert "exact counts by town" in page


def test_no_message_holds_a_row(make: Make, tmp_path: Path) -> None:
    """Provoked errors of a release, searched for what only the rows hold."""
    sentinel = "zq-sentinel"
    table = rows(50).set_column(0, "person_id", [[f"{sentinel}{i}" for i in range(50)]])
    data = make(data=table, epsilon="1")
    attempts = (
        lambda: data.publish(epsilon=5, name="a").release(),
        lambda: published(data, epsilon="20").release(),
        lambda: published(data).counts("person_id"),
        lambda: published(data).question("SELECT * FROM people", name="x"),
        lambda: published(data).save("/dev/null/x"),
    )
    for attempt in attempts:
        with pytest.raises(SfumatoError) as refused:
            attempt()
        assert sentinel not in str(refused.value)
