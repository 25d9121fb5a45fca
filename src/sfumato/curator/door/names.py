"""Names of answers that tell nothing: a number in the ledger would say how much others ask, and when."""

from __future__ import annotations

import base64
import binascii
from functools import cached_property
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV


@final
class Names:
    """The place of an answer in the ledger, encrypted for one analyst (AES-SIV, RFC 5297).

    The same answer has one name for each analyst; whoever holds two names cannot tell which is the older, nor whether
    another's name is of the same answer. A name that was not given to this analyst has no place.
    """

    def __init__(self, key: bytes, dataset: str) -> None:
        self._key, self._dataset = key, dataset

    def name(self, place: int, *, analyst: str) -> str:
        """What `analyst` calls the record at `place`."""
        sealed = self._cipher.encrypt(place.to_bytes(8, "big"), self._about(analyst))
        return "a-" + base64.b32encode(sealed).decode().rstrip("=").lower()

    def place(self, name: str, *, analyst: str) -> int | None:
        """Where the answer is that `analyst` calls so; None if there is none."""
        from cryptography.exceptions import InvalidTag

        text = name.removeprefix("a-").upper()
        try:
            sealed = base64.b32decode(text + "=" * (-len(text) % 8))
            return int.from_bytes(self._cipher.decrypt(sealed, self._about(analyst)), "big")
        except (InvalidTag, binascii.Error, ValueError):
            return None

    def _about(self, analyst: str) -> list[bytes]:
        return [self._dataset.encode(), analyst.encode()]

    @cached_property
    def _cipher(self) -> AESSIV:
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        return AESSIV(HKDF(SHA256(), 64, salt=None, info=b"sfumato: names of answers").derive(self._key))
