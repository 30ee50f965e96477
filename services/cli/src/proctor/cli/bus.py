"""The address of the bus as a person gives it: the address itself, or a file that holds it."""

import sys
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit

from proctor.cli.failure import Misused

_FORM: Final = "write nats://USER:PASSWORD@HOST:PORT, or name a file that holds that"
_SCHEMES: Final = frozenset({"nats", "tls", "ws", "wss"})


def bus_url(given: str) -> str:
    """`given` is an address, a file, or `-` for stdin. Raises Misused with what is wrong; it never repeats a
    password."""
    text = (given if "://" in given else _read(given)).strip()
    if not text or len(text.split()) != 1:
        raise Misused(f"--nats: {_source(given)} holds no address: {_FORM}")
    try:
        url = urlsplit(text)
        problem = _problem(url)
    except ValueError as error:
        problem = str(error)
    if problem:
        raise Misused(f"--nats: not an address of NATS ({problem}): {_FORM}")
    return text


def _problem(url: SplitResult) -> str | None:
    if url.scheme not in _SCHEMES:
        return f"it starts with {url.scheme}://" if url.scheme and url.netloc else "it doesn't start with nats://"
    if not url.hostname:
        return "it names no host"
    if url.port == 0:
        return "port 0"
    return None


def _read(given: str) -> str:
    try:
        return sys.stdin.read() if given == "-" else Path(given).expanduser().read_text(encoding="utf-8")
    except FileNotFoundError:
        raise Misused(f"--nats: {given!r} is neither an address nor a file: {_FORM}") from None
    except (OSError, RuntimeError, UnicodeDecodeError) as error:
        raise Misused(f"--nats: can't read {given!r} ({getattr(error, 'strerror', None) or 'not text'})") from None


def _source(given: str) -> str:
    return "stdin" if given == "-" else repr(given)
