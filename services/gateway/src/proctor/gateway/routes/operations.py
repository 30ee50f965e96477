"""What a handler says of itself for the OpenAPI document: its body, its answer, and what else it may answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from litestar.openapi.spec import Operation
from pydantic import BaseModel

from proctor.gateway.answers.platform import Problem
from proctor.gateway.problems import MEDIA_TYPE

type Content = type[BaseModel] | Mapping[str, Any]
"""A model, or a schema."""

JSON: Final = "application/json"
CONDITIONAL: Final = 304
LOCATION: Final = {"Location": "where the new one is"}
BYTES: Final[dict[str, Any]] = {}
"""Whatever it is."""

_SAID: Final = {
    200: "OK",
    201: "Made",
    202: "Accepted: it happens as soon as it can",
    204: "Done",
    206: "The part that `Range` asks for",
    304: "Not changed since the answer that had this ETag",
    400: "What is wrong with the request, all of it at once in `issues`",
    401: "No token, or one that isn't good (any more)",
    403: "The caller may not do this, or isn't in the workspace",
    404: "There is no such thing, or not in this workspace",
    409: "It can't be done as things are now",
    413: "The body is too large",
    415: "The body has another type than this route reads",
    416: "The file ends before the range begins",
    429: "Too often; `Retry-After` says how many seconds to wait",
    503: "A part of the platform doesn't answer; try again shortly",
}
_HEADERS: Final[dict[int, dict[str, str]]] = {
    206: {"Content-Range": "which part of how many bytes"},
    401: {"WWW-Authenticate": "Bearer"},
    416: {"Content-Range": "how many bytes there are"},
    429: {"Retry-After": "in seconds"},
    503: {"Retry-After": "in seconds"},
}
_ETAG: Final = {"ETag": "a strong one; send it as If-None-Match"}
_REQUEST_HEADERS: Final = {
    CONDITIONAL: ("If-None-Match", "the ETags that the caller has"),
    206: ("Range", "`bytes=FIRST-LAST`, a single range"),
}


def described(
    answer: Content | None,
    *others: int,
    body: Content | None = None,
    body_types: Sequence[str] = (JSON,),
    answer_types: Sequence[str] = (JSON,),
    headers: Mapping[str, str] | None = None,
    also: Mapping[int, Content] | None = None,
) -> type[Operation]:
    """The `operation_class` of a handler. `answer` and `body` are models, schemas or, for an answer without one, None;
    the document puts the models' schemas in their place. `others` are statuses beside its own and those of every
    route, `also` such with a model of their own."""
    content = _content(answer, answer_types)

    @dataclass
    class WithAnswers(Operation):
        def to_schema(self) -> dict[str, Any]:
            written = super().to_schema()
            own = min(int(status) for status in written["responses"])
            tag = _ETAG if CONDITIONAL in others else {}
            answers = {
                str(own): response(own, content, {**(headers or {}), **tag}),
                **{str(status): response(status, content if status < 300 else None, tag) for status in others},
                **{str(status): response(status, _content(model)) for status, model in (also or {}).items()},
            }
            if body is not None:
                written["requestBody"] = {"required": _needed(body), "content": _content(body, body_types)}
            asked = [header(*_REQUEST_HEADERS[status]) for status in others if status in _REQUEST_HEADERS]
            parameters = [*written.get("parameters", []), *asked]
            return {**written, "responses": answers, **({"parameters": parameters} if parameters else {})}

    return WithAnswers


def _content(model: Content | None, types: Sequence[str] = (JSON,)) -> dict[str, Any] | None:
    return None if model is None else {media: {"schema": model} for media in types}


def _needed(body: Content) -> bool:
    """No body at all is read as an empty object."""
    return not isinstance(body, type) or any(field.is_required() for field in body.model_fields.values())


def response(
    status: int, content: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Of an error without a content of its own, a problem document."""
    if content is None and status >= 400 and status != 416:
        content = {MEDIA_TYPE: {"schema": Problem}}
    shown = {
        name: {"description": text, "schema": {"type": "string"}}
        for name, text in {**_HEADERS.get(status, {}), **(headers or {})}.items()
    }
    return {
        "description": _SAID[status],
        **({"content": content} if content else {}),
        **({"headers": shown} if shown else {}),
    }


def header(name: str, text: str) -> dict[str, Any]:
    """An optional parameter."""
    return {"name": name, "in": "header", "description": text, "required": False, "schema": {"type": "string"}}
