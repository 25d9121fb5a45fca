"""A release that exists: its tables, its files, its certificate, all from what the ledger stored."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from sfumato.core.canonical import canonical
from sfumato.core.errors import BadInput, SfumatoError
from sfumato.curator.certificate.certificate import Certificate
from sfumato.curator.certificate.signing import Signer
from sfumato.curator.certificate.verify import verify
from sfumato.curator.ledger.ledger import Committed
from sfumato.curator.ledger.records import Charge
from sfumato.curator.release.folder import refuse_unwritable, write_folder
from sfumato.curator.release.table import Table

if TYPE_CHECKING:
    from sfumato.curator.release.offer import Offer

CERTIFICATE = "certificate.json"
TWINS = {"en": "certificate.html", "fr": "certificate.fr.html"}


@final
@dataclass(frozen=True)
class Published:
    """What was released. It can be written anywhere, any number of times: it costs nothing more."""

    offer: Offer
    found: Mapping[str, Committed]
    done: Committed
    signer: Signer

    @property
    def replayed(self) -> bool:
        """Whether it had been released before."""
        return self.done.replayed

    @property
    def charged(self) -> Charge:
        """What this run was charged: less than the sum of the losses where something of it had been paid for before."""
        return sum((each.charged for each in self.found.values()), Charge())

    @property
    def id(self) -> str:
        return str(self.body["id"])

    @cached_property
    def body(self) -> dict[str, Any]:
        """The certificate without files and signature, as the ledger gives it back: keys in their order, today and later."""
        body: dict[str, Any] = json.loads(canonical(self.done.answer["certificate"]))
        return body

    @cached_property
    def tables(self) -> dict[str, Table]:
        """Every table, by name."""
        return {
            table.name: table
            for product in self.offer.products
            for table in product.tables([self.found[part.key] for part in product.parts])
        }

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate without files beside it; each table's numbers are bound to it all the same."""
        return Certificate.signed(self._with_tables(), self.signer, files={})

    @cached_property
    def files(self) -> dict[str, bytes]:
        """Everything that `save` writes: the tables, their charts, the certificate and its readable twins."""
        from sfumato.show.certificate import html

        files = dict(self._files())
        body = self._with_tables() | {"signer": self.signer.described()}
        for lang, name in TWINS.items():
            files[name] = html(body, lang=lang).encode()
        return files | {CERTIFICATE: Certificate.signed(self._with_tables(), self.signer, files=files).text()}

    def save(self, folder: str | Path) -> Path:
        """Write the release into a new folder, which appears whole or not at all. The same release again changes nothing."""
        place = Path(folder)
        if self.kept(place):
            return place
        refuse_unwritable(place)
        files = self.files
        try:
            return write_folder(place, files)
        except SfumatoError:
            if self.kept(place):  # another process has written it in the meantime
                return place
            raise

    def kept(self, place: Path) -> bool:
        """Whether this release is in the folder already, unharmed; BadInput when anything else is."""
        return kept(place, self.id, dataset=self.body["dataset"]["id"])

    def _files(self) -> Iterator[tuple[str, bytes]]:
        import pyarrow.parquet as pq

        from sfumato.show.estimates import estimates, svg

        for name, table in self.tables.items():
            yield f"{name}.csv", table.csv().encode()
            parquet = io.BytesIO()
            pq.write_table(table.to_arrow(), parquet)
            yield f"{name}.parquet", parquet.getvalue()
            if table.drawn != "nothing":
                title = f"{self.body['release']['title']}, {self.body['release']['edition']}: {name}"
                yield f"{name}.svg", svg(estimates(table, title=title))

    def _with_tables(self) -> dict[str, Any]:
        digests = {name: hashlib.sha256(table.csv().encode()).hexdigest() for name, table in self.tables.items()}
        return {**self.body, "tables": digests}


def kept(place: Path, release: str, *, dataset: str) -> bool:
    """Whether a folder holds this release, every byte of it; False when there is none; BadInput when it holds anything else."""
    if not place.exists():
        return False
    try:
        certificate = verify(place / CERTIFICATE).certificate
        same = certificate.id == release and certificate.body["dataset"]["id"] == dataset
    except SfumatoError:
        same = False
    if not same:
        raise BadInput(
            f"{place} exists and is not this release, or not all of it",
            hint="move it away, or name another folder (--output); the release can be written again for free",
        )
    return True
