"""The ring of keys: from settings, else from a file that only its owner may read. The first seals."""

import base64
import binascii
import os
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import SecretStr

from proctor.gateway.private_file import read_or_create, replace

KEY_BYTES: Final = 32


class UnusableKey(Exception):
    """A key of the vault isn't 32 bytes."""


class Ring(NamedTuple):
    """`file` is None where the keys come from settings."""

    keys: tuple[bytes, ...]
    file: Path | None

    @property
    def rotating(self) -> bool:
        """Whether there are keys that a rotation hasn't done away with yet."""
        return len(self.keys) > 1

    @property
    def source(self) -> str:
        return "PROCTOR_VAULT_KEY" if self.file is None else str(self.file)


def load_ring(current: SecretStr | None, old: SecretStr | None, home: Path) -> Ring:
    """`PROCTOR_VAULT_KEY` and `PROCTOR_VAULT_OLD_KEYS`, else the lines of `home/vault.key`, which is made when it
    isn't there."""
    if current is None:
        return read_ring(home / "vault.key")
    first = _decode(current.get_secret_value(), "PROCTOR_VAULT_KEY")
    others = old.get_secret_value().replace(",", " ").split() if old is not None else []
    return Ring((first, *(_decode(text, "PROCTOR_VAULT_OLD_KEYS") for text in others)), None)


def read_ring(path: Path) -> Ring:
    lines = read_or_create(path, lambda: _encode(os.urandom(KEY_BYTES))).split() or [""]
    return Ring(tuple(_decode(line, str(path)) for line in lines), path)


def begin(ring: Ring, path: Path) -> Ring:
    """A new key in front, on the disk before anything is sealed with it."""
    return _write(path, (os.urandom(KEY_BYTES), *ring.keys))


def finish(ring: Ring, path: Path) -> Ring:
    """The first key alone."""
    return _write(path, ring.keys[:1])


def _write(path: Path, keys: tuple[bytes, ...]) -> Ring:
    replace(path, "".join(f"{_encode(key)}\n" for key in keys))
    return Ring(keys, path)


def _encode(key: bytes) -> str:
    return base64.b64encode(key).decode()


def _decode(text: str, where: str) -> bytes:
    for decode in (bytes.fromhex, base64.b64decode):
        try:
            key = decode(text.strip())
        except (ValueError, binascii.Error):
            continue
        if len(key) == KEY_BYTES:
            return key
    raise UnusableKey(f"{where} must hold {KEY_BYTES} bytes in base64 or hex")
