"""The gateway over HTTP. Every way it can fail becomes one message for people."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final, Self, cast
from urllib.parse import quote

import httpx

from proctor.cli.access import Access
from proctor.cli.addresses import is_local
from proctor.cli.documents import Json, parts
from proctor.cli.failure import Exit, Failure

_TIMEOUT: Final = httpx.Timeout(30, connect=5)
_UPLOAD_TIMEOUT: Final = httpx.Timeout(600, connect=5)
_AWAY: Final = frozenset({HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT})


type Param = str | int | Sequence[str] | None


class Unreachable(Failure):
    """Nothing answers, or only that a part of the platform is away: a caller that follows something may try again."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code=Exit.UNREACHABLE)


class Refused(Failure):
    """The gateway's answer was an error; `status` is HTTP's, `problem` the API's code for it."""

    def __init__(self, status: int, message: str, details: tuple[str, ...], problem: str | None = None) -> None:
        code = Exit.REFUSED if status < HTTPStatus.INTERNAL_SERVER_ERROR else Exit.UNREACHABLE
        super().__init__(message, details=details, code=code)
        self.status = status
        self.problem = problem


class Client:
    def __init__(self, access: Access, *, timeout: httpx.Timeout = _TIMEOUT) -> None:
        self._url = access.url
        self._token_place = access.token_place
        self._http = httpx.Client(
            base_url=f"{access.url}/api/v1/",
            headers={
                "Authorization": f"Bearer {access.token}",
                **({"Proctor-Workspace": access.workspace} if access.workspace else {}),
            },
            timeout=timeout,
            trust_env=not is_local(access.url),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def get(self, path: str, **params: Param) -> Json:
        present = {key: value for key, value in params.items() if value is not None}
        return self._call("GET", path, params=present)

    def post(self, path: str, body: Json, *, key: str | None = None) -> Json:
        return self._call("POST", path, json=body, headers={"Idempotency-Key": key} if key else {})

    def put(self, path: str, body: Json) -> Json:
        return self._call("PUT", path, json=body)

    def patch(self, path: str, body: Json) -> Json:
        return self._call("PATCH", path, json=body)

    def delete(self, path: str, **params: str | None) -> None:
        self._call("DELETE", path, params={key: value for key, value in params.items() if value is not None})

    def upload(self, data: bytes) -> Json:
        headers = {"Content-Type": "application/gzip"}
        return self._call("POST", "uploads", content=data, headers=headers, timeout=_UPLOAD_TIMEOUT)

    @contextmanager
    def stream(self, path: str, headers: Mapping[str, str], **params: str) -> Generator[httpx.Response]:
        """An answer whose body is read as it comes."""
        try:
            with self._http.stream("GET", path, params=params, headers=headers, timeout=_UPLOAD_TIMEOUT) as response:
                if response.is_error:
                    response.read()
                    raise _refusal(response, self._token_place)
                yield response
        except httpx.TransportError as error:
            raise Unreachable(f"{self._url} broke off ({error or type(error).__name__})") from None

    def pages(self, path: str, *, size: int = 200, **params: Param) -> Iterator[Json]:
        """The items of a list, page after page."""
        cursor: str | None = None
        while True:
            page = self.get(path, cursor=cursor, limit=size, **params)
            yield from page["items"]
            cursor = page.get("next_cursor")
            if not cursor:
                return

    def _call(self, method: str, path: str, **options: Any) -> Json:  # noqa: ANN401 - httpx's own options
        try:
            response = self._http.request(method, path, **options)
        except httpx.TimeoutException:
            raise Unreachable(f"{self._url} doesn't answer in time: look at the gateway's log") from None
        except httpx.TransportError as error:
            hint = (
                "start it with `proctor up`" if is_local(self._url) else "is it right, and does `proctor up` run there?"
            )
            raise Unreachable(f"nothing answers at {self._url} ({error}): {hint}") from None
        if response.is_error:
            raise _refusal(response, self._token_place)
        return _body(response, self._url)


def segment(text: str) -> str:
    """One segment of a path, whatever it holds."""
    return quote(text, safe="")


def _body(response: httpx.Response, url: str) -> Json:
    if not response.content:
        return {}
    try:
        return cast("Json", response.json())
    except ValueError:
        raise Failure(f"{url} doesn't answer like Proctor: is the address right?", code=Exit.UNREACHABLE) from None


def _refusal(response: httpx.Response, token_place: str) -> Failure:
    try:
        problem = cast("Json", response.json())
    except ValueError:
        problem = {}
    if response.status_code == HTTPStatus.UNAUTHORIZED:
        hint = f": check {token_place}"
    else:
        hint = f" (incident {problem['incident']})" if problem.get("incident") else ""
    message = problem.get("detail") or problem.get("error") or f"HTTP {response.status_code} {response.reason_phrase}"
    if response.status_code in _AWAY:
        return Unreachable(message)
    details = tuple(_issue(issue) for issue in parts(problem, "issues"))
    if len(details) == 1 and details[0].startswith(message):
        message, details = details[0], ()
    elif details and message.startswith(_place(parts(problem, "issues")[0])):
        message = f"{len(details)} problems"
    return Refused(response.status_code, f"{message}{hint}", details, problem.get("code"))


def _issue(issue: Json) -> str:
    correction = f" (did you mean {issue['correction']}?)" if issue.get("correction") else ""
    return f"{_place(issue)}{correction}"


def _place(issue: Json) -> str:
    return f"{issue['key']}: {issue['message']}" if issue.get("key") else str(issue["message"])
