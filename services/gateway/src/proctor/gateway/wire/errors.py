"""Errors in the shape that the osmosis command reads."""

from typing import Any, Final, cast

from litestar import MediaType, Request, Response
from litestar.exceptions import NotFoundException

from proctor.gateway import problems
from proctor.gateway.wire.versions import UpgradeRequired

PREFIX: Final = "/api/cli"

_CODES: Final = {"WORKSPACE_ACCESS_DENIED": "WORKSPACE_SCOPE_HEADER_ACCESS_DENIED"}
_NOT_SERVED: Final = {
    "datasets": "datasets",
    "eval-runs": "evaluation runs",
    "models": "hosted models",
    "rollouts": "rollouts",
    "training-runs": "training runs",
}
"""What else the command can ask a platform for."""


def respond(request: Request[Any, Any, Any], error: Exception) -> Response[dict[str, Any]]:
    """Below `/api/cli` in that shape, elsewhere a problem document."""
    answer = problems.respond(request, error)
    path: str = request.scope["path"]
    if path != PREFIX and not path.startswith(f"{PREFIX}/"):
        return answer
    answer.content = _body(answer.content)
    answer.media_type = MediaType.JSON
    if missing := getattr(error, "missing", None):
        answer.status_code = 404
        answer.content["error"] = f"Secret(s) not found: {', '.join(missing)}"
        answer.content["issues"] = []
    if isinstance(error, UpgradeRequired):
        answer.content |= {"status": error.verdict.status, "message": error.message}
    if isinstance(error, NotFoundException) and (what := _NOT_SERVED.get(_family(path))):
        answer.content["error"] = f"this is Proctor: it runs benchmarks and has no {what}"
    return answer


def _body(problem: dict[str, Any]) -> dict[str, Any]:
    """The command prints the issues as a list of their own below `error`."""
    issues = cast("list[dict[str, Any]]", problem["issues"])
    count = len(issues)
    body: dict[str, Any] = {
        "error": f"{count} problem{'' if count == 1 else 's'} found" if issues else problem["detail"],
        "code": _CODES.get(problem["code"], problem["code"]),
        "issues": [
            {"key": issue["key"], "message": issue["message"], "key_correction": issue["correction"]}
            for issue in issues
        ],
    }
    if count == 1:
        body["field"] = issues[0]["key"]
    return body | ({"incident": problem["incident"]} if "incident" in problem else {})


def _family(path: str) -> str:
    return path.removeprefix(f"{PREFIX}/").partition("/")[0]
