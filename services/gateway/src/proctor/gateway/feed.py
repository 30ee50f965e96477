"""How far the read models are, and who waits for them."""

import asyncio
import contextlib
import json
import logging
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, Final

import asyncpg

from proctor.service.postgres import Connection

logger = logging.getLogger(__name__)

CHANNEL: Final = "leaderboard"
PROJECTION: Final = "read-models"
WRITE_SECONDS: Final = 2.0
_LOOK_SECONDS: Final = 1.0
_READ: Final = "SELECT sequence FROM leaderboard.api_position WHERE name = $1"


@dataclass(eq=False, slots=True)
class Watch:
    """Set when something of (workspace, id) was committed, or anything at all when that is None."""

    of: tuple[str, str] | None
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class ProjectionFeed:
    """`position` is the read models' last committed sequence; -1 until it could be read."""

    def __init__(self, database_url: str) -> None:
        self._url = database_url
        self._watches: set[Watch] = set()
        self.position = -1

    async def run(self) -> None:
        """Listen for ever. A notification that was lost is made good by looking once a second."""
        while True:
            try:
                connection = await asyncpg.connect(self._url, timeout=5)
                try:
                    await self._listen(connection)
                finally:
                    connection.terminate()
            except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                logger.debug("the read models' feed starts again: %r", error)
                await asyncio.sleep(_LOOK_SECONDS)

    async def _listen(self, connection: Connection) -> None:
        await connection.add_listener(CHANNEL, self.notified)
        while True:
            position = await connection.fetchval(_READ, PROJECTION, timeout=5)
            if position is not None and position != self.position:
                self._moved(position, None)
            await asyncio.sleep(_LOOK_SECONDS)

    def notified(self, _connection: object, _pid: int, _channel: str, payload: object) -> None:
        """What the leaderboard says after a commit: `{position, changed: [[workspace, id], ...]}`."""
        message: dict[str, Any] = json.loads(str(payload))
        self._moved(int(message["position"]), {(workspace, id_) for workspace, id_ in message["changed"]})

    def _moved(self, position: int, changed: set[tuple[str, str]] | None) -> None:
        """`changed` None: it isn't known what, so everything may have."""
        self.position = position if changed is None else max(position, self.position)
        for watch in self._watches:
            if changed is None or watch.of is None or watch.of in changed:
                watch.changed.set()

    def wake(self) -> None:
        """End every wait, so that those who wait can see that the server stops."""
        for watch in self._watches:
            watch.changed.set()

    @contextlib.contextmanager
    def watch(self, of: tuple[str, str] | None = None) -> Generator[asyncio.Event]:
        watch = Watch(of)
        self._watches.add(watch)
        try:
            yield watch.changed
        finally:
            self._watches.discard(watch)

    async def passed(self, sequence: int, seconds: float = WRITE_SECONDS) -> bool:
        """Wait until the read models hold that event. False when they don't within `seconds`."""
        with self.watch() as moved, contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.position < sequence:
                    moved.clear()
                    await moved.wait()
        return self.position >= sequence
