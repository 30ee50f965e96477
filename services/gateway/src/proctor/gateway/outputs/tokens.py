"""Snapshots by name, and grants to fetch one file without signing in. Both are signed with the vault's key."""

import base64
import binascii
import hmac
import json
import re
from typing import Any, Final, NamedTuple, cast

from proctor.gateway.vault.cipher import Sealer
from proctor.service.errors import Forbidden, Invalid, Issue

_MAC_BYTES: Final = 16
_SNAPSHOT: Final = re.compile(r"([0-9]{1,19})\.([0-9]{1,20})\.([A-Za-z0-9_-]{22})")


class Snapshot(NamedTuple):
    """A run at a place of the log. `figures` tells how far its agents' metrics were then: they follow a moment
    later."""

    workspace: str
    run: str
    position: int
    figures: int


class Place(NamedTuple):
    """`size` bytes of an object, from `offset`."""

    object: str
    offset: int
    size: int


class Grant(NamedTuple):
    """`path` is what the file is called, `place` where a snapshot has it; `expires` is in seconds of the epoch."""

    path: str
    place: Place
    expires: int


def snapshot_token(sealer: Sealer, snapshot: Snapshot) -> str:
    return f"{snapshot.position}.{snapshot.figures}.{_mac(sealer, 'snapshot', _bytes(*snapshot))}"


def read_snapshot(sealer: Sealer, workspace: str, run: str, token: str) -> Snapshot:
    """Raises `Invalid` for what isn't a token of this run."""
    if (match := _SNAPSHOT.fullmatch(token)) is not None:
        snapshot = Snapshot(workspace, run, int(match[1]), int(match[2]))
        if hmac.compare_digest(match[3], _mac(sealer, "snapshot", _bytes(*snapshot))):
            return snapshot
    message = "isn't a token of this run's manifest; ask for the manifest again"
    raise Invalid(f"token: {message}", issues=(Issue("token", message),))


def grant_token(sealer: Sealer, grant: Grant) -> str:
    payload = _bytes(grant.path, *grant.place, grant.expires)
    return f"{_encode(payload)}.{_mac(sealer, 'grant', payload)}"


def read_grant(sealer: Sealer, token: str, now: float) -> Grant:
    """Raises `Forbidden` for one that has expired or that isn't ours."""
    text, _, mac = token.partition(".")
    payload = _decode(text)
    if not mac.isascii() or not hmac.compare_digest(mac, _mac(sealer, "grant", payload)):
        raise Forbidden("this download address isn't valid; ask for a new one", code="DOWNLOAD_INVALID")
    path, name, offset, size, expires = cast("list[Any]", json.loads(payload))
    if now >= expires:
        raise Forbidden("this download address has expired; ask for a new one", code="DOWNLOAD_EXPIRED")
    return Grant(path, Place(name, offset, size), expires)


def _bytes(*parts: str | int) -> bytes:
    return json.dumps(parts, separators=(",", ":")).encode()


def _mac(sealer: Sealer, purpose: str, payload: bytes) -> str:
    return _encode(sealer.fingerprint(f"outputs {purpose}\0".encode() + payload)[:_MAC_BYTES])


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decode(text: str) -> bytes:
    """Empty for what isn't base64, which no grant is."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        return b""
