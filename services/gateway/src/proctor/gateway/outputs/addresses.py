"""Addresses that a file can be fetched from for a while without signing in."""

import re
import time
from math import ceil
from typing import Final
from urllib.parse import quote

from proctor.gateway.body import ApiRequest
from proctor.gateway.edges import Edges
from proctor.gateway.outputs.tokens import Grant, Place, grant_token
from proctor.service.errors import Invalid, Issue

FILES = "/api/v1/files"
_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:(?P<port>[0-9]{1,5}))?")


def address(edges: Edges, request: ApiRequest, path: str, place: Place) -> str:
    """On the public address if there is one, else where the caller found us. Raises `Invalid` when that is nowhere."""
    site = (edges.settings.public_url or _found(request)).rstrip("/")
    expires = ceil(time.time()) + edges.settings.download_seconds
    token = grant_token(edges.sealer, Grant(path, place, expires))
    return f"{site}{FILES}/{token}/{quote(path.rpartition('/')[2], safe='')}"


def _found(request: ApiRequest) -> str:
    host = request.headers.get("host")
    if host is not None and ((match := _HOST.fullmatch(host)) is None or int(match["port"] or 0) > 65535):
        message = "must be a host, or a host and a port, like proctor.example.org:8700"
        raise Invalid(f"Host: {message}", issues=(Issue("Host", message),))
    return str(request.base_url)
