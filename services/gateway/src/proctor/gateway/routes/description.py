"""The OpenAPI document of every route. Nobody needs a token to read it."""

from importlib.metadata import version
from typing import Any, Final

from litestar import Request, get
from litestar.openapi import OpenAPIConfig
from litestar.openapi.spec import Components, SecurityScheme

from proctor.gateway.problems import MEDIA_TYPE, Problem

TOKEN: Final = "token"
OPENAPI: Final = OpenAPIConfig(
    title="Proctor",
    version=version("proctor-gateway"),
    path="/api/schema",
    render_plugins=[],
    components=Components(security_schemes={TOKEN: SecurityScheme(type="http", scheme="bearer")}),
)
_TEXT: Final = {"type": "string"}
_ISSUE: Final = {
    "type": "object",
    "properties": {"key": _TEXT, "message": _TEXT, "correction": {"type": ["string", "null"]}},
}
_PROBLEM: Final = {
    "type": "object",
    "required": list(Problem(400, "VALIDATION", "").body()),
    "properties": {
        **dict.fromkeys(("type", "title", "detail", "code", "error", "incident"), _TEXT),
        "status": {"type": "integer"},
        "issues": {"type": "array", "items": _ISSUE},
    },
}
_ANY_PROBLEM: Final = {
    "description": "What is wrong, and what to do about it",
    "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}


@get(["/openapi.json", "/api/v1/openapi.json"], include_in_schema=False, sync_to_thread=False)
def openapi(request: Request[Any, Any, Any]) -> dict[str, Any]:
    return with_problems(request.app.openapi_schema.to_schema())


def with_problems(document: dict[str, Any]) -> dict[str, Any]:
    """Every error is a problem document, whatever Litestar's own errors look like."""
    document["components"]["schemas"]["Problem"] = _PROBLEM
    for path in document["paths"].values():
        for operation in path.values():
            good = {status: answer for status, answer in operation["responses"].items() if status < "400"}
            operation["responses"] = {**good, "default": _ANY_PROBLEM}
    return document
