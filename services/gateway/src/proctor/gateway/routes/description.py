"""The OpenAPI document of every route, made of what the handlers say of themselves. Nobody needs a token to read it."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.metadata import version
from typing import Any, Final, cast

from litestar import Litestar, Request, Router, get
from litestar.openapi import OpenAPIConfig
from litestar.openapi.spec import Components, SecurityScheme
from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from proctor.gateway.conditional import conditional
from proctor.gateway.routes.operations import header, response
from proctor.service.errors import NotFound

type Json = dict[str, Any]
type Models = Mapping[Any, Json]

TOKEN: Final = "token"
API: Final = "/api/v1/"
DESCRIPTION: Final = (
    "A self-hosted platform that benchmarks AI agents. Unknown is null, never 0. Every error is a problem document "
    "(RFC 9457), also a 500, which no route lists: its `incident` is found again in the platform's log."
)
TAGS: Final = {
    "benchmarks": "Published sets of tasks, and their leaderboards",
    "uploads": "Archives that a benchmark is then added from",
    "runs": "Agents on the tasks of a benchmark: submitted, watched, stopped, run again",
    "compare": "Agents of different runs against one another",
    "files": "What a run leaves to download, by addresses that need no token",
    "runners": "The workers",
    "secrets": "Values that agents and verifiers get in their environment; never shown again",
    "vault": "The key that seals them",
    "whoami": "The caller",
    "tokens": "The caller's tokens",
    "device": "Sign-in of a device that has no browser",
    "users": "The people of the installation",
    "workspaces": "Workspaces, their members and their budgets",
    "audit": "Who changed what",
    "platform": "What this is, and whether it works",
}
_EVERYWHERE: Final = (400,)
_SIGNED_IN: Final = (401, 403, 429, 503)
_WITH_BODY: Final = (413, 415)


def no_page(request: Request[Any, Any, Any]) -> None:
    """Litestar would serve pages of its own below its path; the document is at the paths of `openapi` alone."""
    raise NotFound(f"there is nothing at {request.scope['path']}; the OpenAPI document is at /openapi.json")


OPENAPI: Final = OpenAPIConfig(
    title="Proctor",
    version=version("proctor-gateway"),
    description=DESCRIPTION,
    openapi_router=Router("/api/schema", route_handlers=[], include_in_schema=False, before_request=no_page),
    render_plugins=[],
    use_handler_docstrings=True,
    operation_id_creator=lambda handler, _method, _path: handler.handler_name,
    components=Components(security_schemes={TOKEN: SecurityScheme(type="http", scheme="bearer")}),
)


@get(["/openapi.json", "/api/v1/openapi.json"], include_in_schema=False, sync_to_thread=False, middleware=[conditional])
def openapi(request: Request[Any, Any, Any]) -> Json:
    return document(request.app)


@lru_cache(maxsize=1)
def document(app: Litestar) -> Json:
    written = app.openapi_schema.to_schema()
    paths = {
        path: {method: _operation(path, operation) for method, operation in item.items()}
        for path, item in written["paths"].items()
    }
    models, schemas = models_json_schema(
        list(dict.fromkeys(_models(paths))), ref_template="#/components/schemas/{model}"
    )
    components = written["components"]
    return {
        **written,
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": _named(paths, models),
        "components": {**components, "schemas": {**components.get("schemas", {}), **schemas["$defs"]}},
    }


def _operation(path: str, operation: Json) -> Json:
    """With what every route has beside what its handler says."""
    secured = bool(operation.get("security"))
    parameters = [{**one, "schema": _given(one["schema"])} for one in operation.get("parameters", [])]
    errors = [
        *_EVERYWHERE,
        *(_SIGNED_IN if secured else ()),
        *((404,) if any(one["in"] == "path" for one in parameters) else ()),
        *(_WITH_BODY if "requestBody" in operation else ()),
    ]
    if secured:
        parameters.append(header("Proctor-Workspace", "the workspace's name; without it, the first one joined"))
    return {
        **operation,
        "summary": operation["operationId"].replace("_", " ").capitalize(),
        "tags": [path.removeprefix(API).partition("/")[0] if path.startswith(API) else "platform"],
        "parameters": parameters,
        "responses": dict(sorted({**{str(one): response(one) for one in errors}, **operation["responses"]}.items())),
    }


def _given(schema: Json) -> Json:
    """Of a parameter that is there: null is how the code says that it isn't."""
    null = {"type": "null"}
    if null in schema.get("oneOf", ()):
        (kind,) = [kind for kind in schema["oneOf"] if kind != null]
        return {**{key: value for key, value in schema.items() if key != "oneOf"}, **kind}
    if isinstance(kinds := schema.get("type"), list) and "null" in kinds:
        (kind,) = [kind for kind in cast("list[str]", kinds) if kind != "null"]
        values = [value for value in schema.get("enum", ()) if value is not None]
        return {**schema, "type": kind, **({"enum": values} if values else {})}
    return schema


def _models(node: object, mode: JsonSchemaMode = "serialization") -> Iterator[tuple[type[BaseModel], JsonSchemaMode]]:
    """Every model in place of a schema; what comes in may leave out what goes out."""
    if isinstance(node, type):
        yield cast("type[BaseModel]", node), mode
    elif isinstance(node, Mapping):
        for key, value in cast("Mapping[str, object]", node).items():
            yield from _models(value, "validation" if key == "requestBody" else mode)


def _named(node: object, models: Models, mode: JsonSchemaMode = "serialization") -> object:
    """The same with each model's reference."""
    if isinstance(node, type):
        return models[node, mode]
    if isinstance(node, Mapping):
        items = cast("Mapping[str, object]", node).items()
        return {key: _named(value, models, "validation" if key == "requestBody" else mode) for key, value in items}
    return node
