"""What a newcomer finds at the root."""

from importlib.metadata import version
from typing import Any, Final

from litestar import get

from proctor.gateway.answers.platform import Home
from proctor.gateway.routes.operations import described

VERSION: Final = version("proctor-gateway")
HOME: Final = {
    "name": "Proctor",
    "what": "a self-hosted platform that benchmarks AI agents",
    "version": VERSION,
    "api": "/api/v1",
    "openapi": "/api/v1/openapi.json",
    "health": {"live": "/healthz", "ready": "/readyz"},
    "web_ui": "not part of this version; use the command `proctor` or the API",
    "token": "send `Authorization: Bearer <token>` with every request to the API; the owner's token is in the file "
    "`token` of the platform's home (PROCTOR_HOME) on the server",
}


@get("/", sync_to_thread=False, operation_class=described(Home))
def home() -> dict[str, Any]:
    return HOME
