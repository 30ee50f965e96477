"""Sealing with AES-256-GCM, each text bound to the place it is stored at."""

import hashlib
import hmac
import os
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_NONCE_BYTES: Final = 12


class WrongKey(Exception):
    """What was sealed was sealed with another key, or changed since."""


class Sealer:
    """Seals with the first key and opens with any, also with those that a rotation took out while it runs."""

    def __init__(self, *keys: bytes) -> None:
        self._ciphers: dict[str, AESGCM] = {}
        self.turn_to(*keys)

    def turn_to(self, *keys: bytes) -> None:
        self._key, self.key_id = keys[0], key_id(keys[0])
        self._ciphers |= {key_id(key): AESGCM(key) for key in keys}

    @property
    def key_ids(self) -> frozenset[str]:
        return frozenset(self._ciphers)

    def seal(self, clear: bytes, place: str) -> bytes:
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._ciphers[self.key_id].encrypt(nonce, clear, place.encode())

    def open(self, sealed: bytes, place: str) -> bytes:
        """Raises `WrongKey`, also for what was sealed for another place."""
        for cipher in self._ciphers.values():
            try:
                return cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], place.encode())
            except (InvalidTag, ValueError):
                continue
        raise WrongKey(place)

    def fingerprint(self, text: bytes) -> bytes:
        """Tells equal texts from different ones without giving short ones away."""
        return hmac.new(self._key, b"fingerprint\0" + text, hashlib.sha256).digest()


def key_id(key: bytes) -> str:
    """Names a key without telling anything of it."""
    return hashlib.sha256(b"proctor vault key\0" + key).hexdigest()[:16]
