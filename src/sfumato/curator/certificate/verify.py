"""Is this the release that was signed? Offline, from the certificate and the files beside it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from sfumato.core.errors import BadPolicy
from sfumato.curator.certificate.certificate import Certificate, changed

if TYPE_CHECKING:
    from sfumato.curator.ledger.ledger import Ledger
    from sfumato.curator.policy import Policy


@final
@dataclass(frozen=True, slots=True)
class Verified:
    """A certificate whose text holds, and what was found of its files."""

    certificate: Certificate
    files: int
    unnamed: tuple[str, ...]
    """Files beside it that it says nothing about."""


def verify(path: str | Path) -> Verified:
    """The certificate and every file that it names; LedgerDamaged, with their names, when anything is not as signed."""
    file = Path(path)
    certificate = Certificate.read(file)
    wrong, names = [], {file.name}
    for named in certificate.body["files"]:
        names.add(named["name"])
        try:
            content = (file.parent / named["name"]).read_bytes()
        except OSError:
            wrong.append(f"{named['name']} is missing")
            continue
        if hashlib.sha256(content).hexdigest() != named["sha256"]:
            wrong.append(f"{named['name']} was changed")
    if wrong:
        raise changed(f"{'; '.join(wrong)}, since {certificate.id} was signed")
    beside = tuple(sorted(each.name for each in file.parent.iterdir() if each.name not in names)) if names else ()
    return Verified(certificate, len(names) - 1, beside if len(names) > 1 else ())


def of_policy(certificate: Certificate, policy: Policy) -> None:
    """BadPolicy when the certificate speaks of another data set, or of this one under another policy."""
    said = certificate.body["dataset"]
    if said["id"] != policy.id:
        raise BadPolicy(
            f"{certificate.id} is about the data set {said['id']}, and this policy about {policy.id}",
            hint="name the policy of the data set that was released (--policy)",
        )
    if said["policy"] != policy.digest:
        raise BadPolicy(
            f"{certificate.id} was issued under another policy of this data set, or another version of its rows",
            hint="look at the policy's history; `sfumato ledger list` says when it changed",
        )


def in_ledger(certificate: Certificate, ledger: Ledger) -> None:
    """LedgerDamaged when the ledger does not hold the record that the certificate names."""
    said = certificate.body["ledger"]["position"]
    found = next((record for record in ledger.history() if str(record.n) == said["n"]), None)
    if found is None or found.digest != said["digest"]:
        raise changed(f"the ledger has no such release as {certificate.id}")
