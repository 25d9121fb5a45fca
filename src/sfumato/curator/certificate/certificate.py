"""A certificate: what a release says of itself, in canonical JSON, signed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, final

from sfumato.core.canonical import canonical
from sfumato.core.errors import BadInput, LedgerDamaged
from sfumato.curator.certificate.signing import ALGORITHM, Signer, fingerprint, signed_by

FORMAT = "sfumato-certificate/1"


_HELD = frozenset(
    [
        "also_public",
        "audit",
        "bias",
        "covers",
        "dataset",
        "files",
        "format",
        "guarantee",
        "id",
        "issued",
        "issuer",
        "ledger",
        "limits",
        "product",
        "products",
        "protects",
        "release",
        "rows",
        "signature",
        "signer",
        "tables",
    ]
)


@final
@dataclass(frozen=True)
class Certificate:
    """A signed body. Its file is the canonical JSON of the body and a line feed: no byte of it can be another."""

    body: Mapping[str, Any]

    @classmethod
    def signed(cls, body: Mapping[str, Any], signer: Signer, *, files: Mapping[str, bytes]) -> Self:
        """Sign a release's body, together with the hashes of these files."""
        whole = {**body, "files": hashes(files), "signer": signer.described()}
        return cls({**whole, "signature": signer.sign(canonical(whole).encode())})

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """The certificate in a file, its signature verified."""
        try:
            text = Path(path).read_bytes()
        except OSError:
            raise BadInput(
                f"there is no certificate at {path}", hint="name the certificate.json of a release"
            ) from None
        return cls.parse(text, name=Path(path).name)

    @classmethod
    def parse(cls, text: bytes, *, name: str = "the certificate") -> Self:
        """The certificate in a text; LedgerDamaged when a byte of it is not as it was signed."""
        try:
            body = json.loads(text)
            known = isinstance(body, dict) and body.get("format") == FORMAT and body.keys() >= _HELD and _plain(body)
        except (ValueError, RecursionError):
            known = False
        if not known:
            raise changed(f"{name} is not a certificate that this version can read, or its text was changed")
        certificate = cls(body)
        if certificate.text() != text or not certificate.holds():
            raise changed(f"{name} is not what its signer signed: its text was changed")
        return certificate

    @property
    def id(self) -> str:
        return str(self.body["id"])

    @property
    def signer(self) -> str:
        """The fingerprint of whoever signed: compare it with what the issuer told by another way."""
        return fingerprint(bytes.fromhex(self.body["signer"]["public_key"]))

    def holds(self) -> bool:
        """Whether the signature is that of the key that is named, over everything else."""
        unsigned = {name: value for name, value in self.body.items() if name != "signature"}
        try:
            signer = self.body["signer"]
            public, signature = bytes.fromhex(signer["public_key"]), bytes.fromhex(self.body["signature"])
            text = canonical(unsigned).encode()
        except (KeyError, TypeError, ValueError):
            return False
        named = signer == {"algorithm": ALGORITHM, "public_key": public.hex(), "fingerprint": fingerprint(public)}
        return named and signature.hex() == self.body["signature"] and signed_by(public, signature, text)

    def text(self) -> bytes:
        """The bytes of its file."""
        try:
            return canonical(self.body).encode() + b"\n"
        except (TypeError, UnicodeEncodeError):  # a float, or half a character: sfumato writes neither
            return b""

    def save(self, path: str | Path) -> Path:
        """Write it to one file, whole or not at all."""
        from sfumato.curator.release.folder import write_file

        return write_file(Path(path), self.text())

    def show(self, *, form: str = "text", lang: str = "en") -> str:
        """For people: `text`, `html`, or `aipd`, the page that a data protection officer needs."""
        from sfumato.show import certificate as page

        pages = {"text": page.text, "html": page.html, "aipd": page.aipd}
        if form == "json":
            return json.dumps(self.body, ensure_ascii=False, indent=2, sort_keys=True)
        if form not in pages:
            raise BadInput(f"a certificate is not shown as {form}", hint="choose text, json, html or aipd")
        try:
            return pages[form](self.body, lang=lang)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise changed(f"{self.id} is signed, and does not hold what a certificate holds") from None

    def __repr__(self) -> str:
        return self.show()

    def _repr_html_(self) -> str:
        return self.show(form="html")


def _plain(body: Mapping[str, Any]) -> bool:
    """Whether every file that it names is one beside it: a name that leads elsewhere would have other files read."""
    try:
        names = [each["name"] for each in body["files"]]
        ends = [each["sha256"] for each in body["files"]]
    except (KeyError, TypeError):
        return False
    return all(isinstance(each, str) for each in (*names, *ends)) and all(Path(name).name == name for name in names)


def hashes(files: Mapping[str, bytes]) -> list[dict[str, str]]:
    """Name, size and SHA-256 of each file, by name."""
    return [
        {"name": name, "bytes": str(len(content)), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in sorted(files.items())
    ]


def changed(what: str) -> LedgerDamaged:
    """The release is not the one that was signed."""
    return LedgerDamaged(
        f"{what}. What it says cannot be relied on", hint="get the release again from its issuer, and verify it again"
    )
