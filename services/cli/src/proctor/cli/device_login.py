"""Sign in with a code that somebody approves (RFC 8628)."""

import socket
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final, NamedTuple, cast

import httpx

from proctor.cli.addresses import is_local
from proctor.cli.failure import Exit, Failure

SLOWER_SECONDS: Final = 5.0
_PENDING: Final = {"authorization_pending": 0.0, "slow_down": SLOWER_SECONDS}
"""What keeps a poll waiting, and by how much longer from then on."""
_PASSING: Final = frozenset({HTTPStatus.TOO_MANY_REQUESTS, *(status for status in HTTPStatus if status >= 500)})


class Code(NamedTuple):
    """`shown` is what a person types at `page`; `secret` stays here."""

    shown: str
    secret: str
    page: str
    interval: float
    seconds: float


def begin(url: str) -> Code:
    answer = _post(url, "authorize", {"deviceName": f"proctor on {socket.gethostname()}"})
    if answer.is_error:
        raise _refused(answer)
    try:
        found = answer.json()
        page = found.get("verification_uri_complete") or found["verification_uri"]
        code = Code(found["user_code"], found["device_code"], page, found["interval"], found["expires_in"])
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Failure(f"{url} doesn't answer like Proctor: is the address right?", code=Exit.UNREACHABLE) from None
    return code


def wait_for_token(url: str, code: Code, sleep: Callable[[float], Any] = time.sleep) -> str:
    """Raises Failure when it is denied, or nobody approves it in time. A server that is away is asked again."""
    interval, deadline = code.interval, time.monotonic() + code.seconds
    while time.monotonic() < deadline:
        sleep(interval)
        try:
            answer = _post(url, "token", {"device_code": code.secret})
        except Failure:
            continue
        if answer.is_success:
            return str(answer.json()["token"])
        longer = _PENDING.get(_problem(answer))
        if longer is None and answer.status_code not in _PASSING:
            raise _refused(answer)
        interval += longer or 0
    raise Failure(f"nobody approved {code.shown} in time: start again", code=Exit.REFUSED)


def _post(url: str, step: str, body: dict[str, str]) -> httpx.Response:
    try:
        return httpx.post(f"{url}/api/cli/device/{step}", json=body, timeout=10, trust_env=not is_local(url))
    except (httpx.TransportError, httpx.InvalidURL) as error:
        raise Failure(f"nothing answers at {url} ({error}): is the address right?", code=Exit.UNREACHABLE) from None


def _problem(answer: httpx.Response) -> str:
    try:
        return str(answer.json().get("error"))
    except (ValueError, AttributeError):
        return ""


def _refused(answer: httpx.Response) -> Failure:
    try:
        body = cast("dict[str, Any]", answer.json())
    except ValueError:
        body = {}
    code = Exit.REFUSED if answer.status_code < HTTPStatus.INTERNAL_SERVER_ERROR else Exit.UNREACHABLE
    message = body.get("message") or body.get("error") or f"{answer.url.host} answers {answer.status_code}"
    return Failure(str(message), code=code)
