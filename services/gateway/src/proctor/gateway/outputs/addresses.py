"""Addresses that a file can be fetched from for a while without signing in."""

import time
from math import ceil
from urllib.parse import quote

from proctor.gateway.body import ApiRequest
from proctor.gateway.edges import Edges
from proctor.gateway.outputs.tokens import Grant, Place, grant_token

FILES = "/api/v1/files"


def address(edges: Edges, request: ApiRequest, path: str, place: Place) -> str:
    """On the public address if there is one, else where the caller found us."""
    site = (edges.settings.public_url or str(request.base_url)).rstrip("/")
    expires = ceil(time.time()) + edges.settings.download_seconds
    token = grant_token(edges.sealer, Grant(path, place, expires))
    return f"{site}{FILES}/{token}/{quote(path.rpartition('/')[2], safe='')}"
