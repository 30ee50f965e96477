"""Addresses of servers, and whether a token may be sent to one."""

from ipaddress import ip_address
from typing import Final
from urllib.parse import SplitResult, urlsplit

from proctor.cli.failure import Misused

_FORM: Final = "write https://HOST or http://HOST:PORT"


def read_url(text: str, where: str) -> str:
    """Without a slash at its end. Raises Misused, which names `where` it was given."""
    written = text.strip().rstrip("/")
    try:
        problem = _problem(urlsplit(written))
    except ValueError as error:
        problem = str(error)
    if problem:
        raise Misused(f"{where}: not the address of a server ({problem}): {_FORM}")
    return written


def is_local(url: str) -> bool:
    """Whether it is this machine's own, which no network sees."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_private(url: str, where: str, *, insecure: bool) -> None:
    """Raises Misused when a token would cross a network in clear and nobody said that it may."""
    if not insecure and urlsplit(url).scheme == "http" and not is_local(url):
        raise Misused(
            f"{where}: {url} is plain http: everybody on the way could read the token; "
            "use https, or `--insecure` in a network that you trust"
        )


def _problem(url: SplitResult) -> str | None:
    if url.scheme not in {"http", "https"}:
        return "it doesn't start with https:// or http://"
    if not url.hostname or url.port == 0:
        return "it names no host" if not url.hostname else "port 0"
    if url.username is not None or url.password is not None:
        return "it holds a user or a password"
    return "it has a query or a fragment" if url.query or url.fragment else None
