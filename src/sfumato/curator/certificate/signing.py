"""Ed25519: the key that this home signs releases with, made on first use, and its fingerprint."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, final

from sfumato.core.errors import LedgerDamaged
from sfumato.curator.home import Home
from sfumato.noise.secret import secret_bytes

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

ALGORITHM = "Ed25519"


def fingerprint(public: bytes) -> str:
    """The first 128 bits of the SHA-256 of a public key, as people read them out: eight groups of four."""
    text = hashlib.sha256(public).hexdigest()[:32]
    return " ".join(text[place : place + 4] for place in range(0, 32, 4))


@final
@dataclass(frozen=True)
class Signer:
    """A private key. It is a PEM file of mode 0600 in the sfumato home; whoever has it can sign in the owner's name."""

    key: Ed25519PrivateKey

    @classmethod
    def of(cls, home: Home) -> Self:
        """The home's key, made if there is none yet."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        text = home.signing_key(_new)
        try:
            key = load_pem_private_key(text, password=None)
        except (ValueError, TypeError):
            raise _unusable() from None
        if not isinstance(key, Ed25519PrivateKey):
            raise _unusable()
        return cls(key)

    @cached_property
    def public(self) -> bytes:
        return self.key.public_key().public_bytes_raw()

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.public)

    def described(self) -> dict[str, Any]:
        """Who signs, as a certificate says it; it is signed too."""
        return {"algorithm": ALGORITHM, "public_key": self.public.hex(), "fingerprint": self.fingerprint}

    def sign(self, text: bytes) -> str:
        return self.key.sign(text).hex()


def signed_by(public: bytes, signature: bytes, text: bytes) -> bool:
    """Whether whoever has the private half of `public` signed exactly this."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, text)
    except (InvalidSignature, ValueError):
        return False
    return True


def _new() -> bytes:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = Ed25519PrivateKey.from_private_bytes(secret_bytes(32))
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _unusable() -> LedgerDamaged:
    return LedgerDamaged(
        "the key that signs releases is not one that sfumato made",
        hint="restore signing.pem into the sfumato home from its backup, or remove it: the next release makes another, "
        "whose fingerprint readers do not know",
    )
