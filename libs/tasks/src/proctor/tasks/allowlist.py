"""The entries of `allowed_hosts`: hostnames, `*.` suffixes, IP addresses and CIDR ranges."""

import re
from collections.abc import Iterable
from ipaddress import ip_address, ip_network
from typing import Final

_LABEL: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


def normalise_hosts(hosts: Iterable[str]) -> tuple[str, ...]:
    """Lower case, no trailing dot, addresses in their shortest form; ValueError names a bad entry."""
    return tuple(_normalise(host.strip().lower().rstrip("."), host) for host in hosts)


def _normalise(host: str, written: str) -> str:
    if not host:
        raise ValueError(f"{written!r} is empty; write a hostname, an IP address or a CIDR range")
    if "/" in host or ":" in host or "[" in host:
        return _address(host, written)
    name = host.removeprefix("*.")
    if "*" in name:
        raise ValueError(f"{written!r}: a wildcard may only lead, as in '*.example.com'")
    if name != host and _is_address(name):
        raise ValueError(f"{written!r}: a wildcard needs a hostname, not an IP address")
    if not all(_LABEL.fullmatch(label) for label in name.split(".")):
        raise ValueError(f"{written!r} is not a hostname: only letters, digits, hyphens and dots")
    return host


def _address(host: str, written: str) -> str:
    try:
        address = ip_network(host) if "/" in host else ip_address(host)
    except ValueError:
        raise ValueError(f"{written!r} must be a hostname, an IP address or a CIDR range, not a URL or port") from None
    if "%" in host:
        raise ValueError(f"{written!r}: a zone only has a meaning on one machine; leave it out")
    return address.compressed


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
