"""The OpenAPI document of every route. Nobody needs a token to read it."""

from importlib.metadata import version
from typing import Any, Final

from litestar import Request, Router, get
from litestar.openapi import OpenAPIConfig
from litestar.openapi.spec import Components, SecurityScheme

from proctor.gateway.problems import MEDIA_TYPE, Problem
from proctor.service.errors import NotFound

TOKEN: Final = "token"


def no_page(request: Request[Any, Any, Any]) -> None:
    """Litestar would serve pages of its own below its path; the document is at the paths of `openapi` alone."""
    raise NotFound(f"there is nothing at {request.url.path}; the OpenAPI document is at /openapi.json")


OPENAPI: Final = OpenAPIConfig(
    title="Proctor",
    version=version("proctor-gateway"),
    openapi_router=Router("/api/schema", route_handlers=[], include_in_schema=False, before_request=no_page),
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
