"""Sealing with AES-256-GCM, each text bound to the place it is stored at."""

import base64
import binascii
import hashlib
import hmac
import os
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pydantic import SecretStr

from proctor.gateway.private_file import read_or_create

KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12


class UnusableKey(Exception):
    """The vault key isn't 32 bytes."""


class WrongKey(Exception):
    """What was sealed was sealed with another key, or changed since."""


class Sealer:
    def __init__(self, key: bytes) -> None:
        self._cipher, self._key = AESGCM(key), key

    def seal(self, clear: bytes, place: str) -> bytes:
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, clear, place.encode())

    def open(self, sealed: bytes, place: str) -> bytes:
        """Raises `WrongKey`, also for what was sealed for another place."""
        try:
            return self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], place.encode())
        except InvalidTag as error:
            raise WrongKey(place) from error

    def fingerprint(self, text: bytes) -> bytes:
        """Tells equal texts from different ones without giving short ones away."""
        return hmac.new(self._key, b"fingerprint\0" + text, hashlib.sha256).digest()


def load_key(setting: SecretStr | None, home: Path) -> bytes:
    """The key of `PROCTOR_VAULT_KEY`, else of `home/vault.key`, which is made when it isn't there."""
    if setting is not None:
        return _decode(setting.get_secret_value(), "PROCTOR_VAULT_KEY")
    path = home / "vault.key"
    return _decode(read_or_create(path, lambda: base64.b64encode(os.urandom(KEY_BYTES)).decode()), str(path))


def _decode(text: str, where: str) -> bytes:
    for decode in (bytes.fromhex, base64.b64decode):
        try:
            key = decode(text.strip())
        except (ValueError, binascii.Error):
            continue
        if len(key) == KEY_BYTES:
            return key
    raise UnusableKey(f"{where} must hold {KEY_BYTES} bytes in base64 or hex")
