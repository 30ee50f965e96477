"""What a version of the osmosis command is told about itself."""

import re
from typing import ClassVar, Final, Literal, NamedTuple

from litestar.datastructures import Headers, MutableScopeHeaders
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from proctor.service.errors import ProctorError

VERSION_HEADER: Final = "x-osmosis-cli-version"
STATUS_HEADER: Final = "X-Osmosis-Version-Status"
MESSAGE_HEADER: Final = "X-Osmosis-Version-Message"
_NUMBERS: Final = re.compile(r"\d{1,9}(\.\d{1,9})*")


class Verdict(NamedTuple):
    status: Literal["current", "upgrade_available", "unsupported"]
    message: str


class UpgradeRequired(ProctorError):
    status: ClassVar[int] = 426
    code: ClassVar[str] = "UPGRADE_REQUIRED"

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.message)
        self.verdict = verdict


def judge(version: str | None, oldest: str, latest: str) -> Verdict | None:
    """None for a caller that doesn't say its version, or not as numbers."""
    found = _NUMBERS.match(version or "")
    if found is None:
        return None
    upgrade = f"upgrade it with `pip install --upgrade osmosis-ai=={latest}`"
    if _numbers(found[0]) < _numbers(oldest):
        return Verdict("unsupported", f"osmosis {found[0]} is too old for this platform ({oldest} or later); {upgrade}")
    if _numbers(found[0]) < _numbers(latest):
        return Verdict("upgrade_available", f"osmosis {latest} is out, this is {found[0]}; {upgrade}")
    return Verdict("current", "")


def _numbers(version: str) -> tuple[int, ...]:
    numbers = [int(part) for part in version.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


class VersionSignal:
    """Refuses what is too old, and puts the verdict on every good answer."""

    def __init__(self, app: ASGIApp, *, oldest: str, latest: str) -> None:
        self._app, self._oldest, self._latest = app, oldest, latest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        verdict = judge(Headers.from_scope(scope).get(VERSION_HEADER), self._oldest, self._latest)
        if verdict is not None and verdict.status == "unsupported":
            raise UpgradeRequired(verdict)

        async def signal(message: Message) -> None:
            if verdict is not None and message["type"] == "http.response.start" and message["status"] < 300:
                headers = MutableScopeHeaders.from_message(message)
                headers[STATUS_HEADER] = verdict.status
                if verdict.message:
                    headers[MESSAGE_HEADER] = verdict.message
            await send(message)

        await self._app(scope, receive, signal)
