"""HTTP with an end to what a client may keep open: a head comes in time and isn't endless, a body moves on."""

import asyncio
import json
from typing import Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from proctor.gateway.problems import MEDIA_TYPE, Problem

HEAD_SECONDS: Final = 15.0
HEAD_BYTES: Final = 64 * 1024
BODY_SECONDS: Final = 20.0
BODY_BYTES: Final = 4 * 1024
"""What has to come of a body in `BODY_SECONDS`."""
LINGER_SECONDS: Final = 2.0
"""For a client that still sends what was refused: long enough to read why."""
TOO_MUCH: Final = Problem(431, "TOO_LARGE", f"the request line and headers are larger than {HEAD_BYTES // 1024} KiB")


class PatientProtocol(HttpToolsProtocol):
    """A connection is in the head of a request, in its body, or in neither; the timer is that of the part."""

    _part: str | None = "head"
    _armed: str | None = None
    _timer: asyncio.TimerHandle | None = None
    _received = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._part == "head" and self._armed == "head" and self._received > HEAD_BYTES:
            self._refuse(TOO_MUCH)
        self._arm()

    def on_message_begin(self) -> None:
        self._part = "head"
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._part = "body"
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._part = None
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._part == "body":
            self._disarm()
            self._timer = self.loop.call_later(LINGER_SECONDS, self.transport.close)

    def send_400_response(self, msg: str) -> None:
        self._refuse(Problem(400, "VALIDATION", f"this isn't HTTP: {msg}"))

    def _arm(self) -> None:
        if self._part == self._armed:
            return
        self._disarm()
        self._armed, self._received = self._part, 0
        if self._part == "head":
            self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)
        elif self._part == "body":
            self._timer = self.loop.call_later(BODY_SECONDS, self._look)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        """Whether the body moved, unless it is us who don't read on."""
        if self._received < BODY_BYTES and not self.flow.read_paused:
            self.transport.close()
            return
        self._received = 0
        self._timer = self.loop.call_later(BODY_SECONDS, self._look)

    def _refuse(self, problem: Problem) -> None:
        body = json.dumps(problem.body()).encode()
        self.transport.write(
            STATUS_LINE[problem.status]
            + f"content-type: {MEDIA_TYPE}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n".encode()
            + body
        )
        self.transport.close()
