"""Every error as `application/problem+json` (RFC 9457), in one place."""

import logging
from http import HTTPStatus
from typing import Any, Final, NamedTuple, cast

import asyncpg
import nats.errors
from litestar import Request, Response
from litestar.exceptions import HTTPException
from nats.js.errors import APIError, NoStreamResponseError

from proctor.contracts.ids import short_id
from proctor.eventlog import Unavailable
from proctor.service.errors import Issue, ProctorError, TooMany

logger = logging.getLogger(__name__)

MEDIA_TYPE: Final = "application/problem+json"

_CODES: Final = {
    400: "VALIDATION",
    401: "TOKEN_INVALID",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    409: "CONFLICT",
    413: "TOO_LARGE",
    415: "UNSUPPORTED_MEDIA_TYPE",
    429: "RATE_LIMITED",
}

_TOLD: Final = {
    404: "there is nothing at {path}",
    413: "the body is larger than what {path} reads: 1 MiB, of a submit 4 MiB",
}
"""In place of what Litestar says."""

_AWAY: Final[tuple[tuple[tuple[type[Exception], ...], str], ...]] = (
    (
        (asyncpg.InvalidSchemaNameError, asyncpg.UndefinedTableError),
        "the leaderboard service hasn't prepared its read models yet; try again shortly",
    ),
    (
        (
            asyncpg.PostgresConnectionError,
            asyncpg.CannotConnectNowError,
            asyncpg.InterfaceError,
            asyncpg.InternalClientError,
            OSError,
        ),
        "the database doesn't answer; try again shortly",
    ),
    (
        (Unavailable, nats.errors.Error, NoStreamResponseError, APIError),
        "the event log doesn't answer; nothing was written; try again shortly",
    ),
    ((TimeoutError,), "a part of the platform took too long to answer; try again shortly"),
)
"""Parts that may be away for a while: the caller should come again, nothing is wrong with the request."""


class Problem(NamedTuple):
    status: int
    code: str
    detail: str
    issues: tuple[Issue, ...] = ()
    incident: str | None = None

    def body(self) -> dict[str, Any]:
        body = {
            "type": f"urn:proctor:problem:{self.code.lower().replace('_', '-')}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            "error": self.detail,
            "issues": [issue._asdict() for issue in self.issues],
        }
        return body if self.incident is None else {**body, "incident": self.incident}


def problem_of(error: Exception, path: str) -> Problem:
    """What the caller is told. An error nobody foresaw gets an incident id and nothing else."""
    if isinstance(error, ProctorError):
        return Problem(error.status, error.reported_code, error.message, error.issues)
    if isinstance(error, HTTPException) and error.status_code < 500:
        return _of_http(error, path)
    for kinds, text in _AWAY:
        if isinstance(error, kinds):
            return Problem(503, "UNAVAILABLE", text)
    incident = short_id()
    return Problem(
        500, "INTERNAL", f"something went wrong on our side; the log has it as incident {incident}", (), incident
    )


def respond(request: Request[Any, Any, Any], error: Exception) -> Response[dict[str, Any]]:
    # the address is made of the Host header, which may be none
    path: str = request.scope["path"]
    problem = problem_of(error, path)
    if problem.incident:
        logger.error("incident %s: %s %s", problem.incident, request.method, path, exc_info=error)
    elif problem.status == 503:
        logger.warning("%s %s: %r", request.method, path, error)
    headers = cast("dict[str, str]", getattr(error, "headers", None) or {})
    if problem.status == 401:
        headers = {**headers, "WWW-Authenticate": "Bearer"}
    if problem.status == 503:
        headers = {**headers, "Retry-After": "2"}
    if isinstance(error, TooMany):
        headers = {**headers, "Retry-After": str(error.retry_after)}
    return Response(problem.body(), status_code=problem.status, media_type=MEDIA_TYPE, headers=headers)


def _of_http(error: HTTPException, path: str) -> Problem:
    status = 400 if error.status_code == 422 else error.status_code
    detail = _TOLD[status].format(path=path) if status in _TOLD else error.detail
    issues = tuple(_issues(error.extra))
    if issues:
        detail = "; ".join(f"{issue.key}: {issue.message}" for issue in issues)
    code = _CODES.get(status) or HTTPStatus(status).name
    return Problem(status, code, detail, issues)


def _issues(extra: object) -> list[Issue]:
    """Litestar's own findings about parameters: a list of {key, message}."""
    found = cast("list[object]", extra) if isinstance(extra, list) else []
    return [
        Issue(str(item.get("key", "")), str(item.get("message", "")))
        for item in (cast("dict[str, object]", entry) for entry in found if isinstance(entry, dict))
    ]
