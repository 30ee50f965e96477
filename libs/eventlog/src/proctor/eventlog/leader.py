"""One active process of a kind, by a key that expires. It keeps things quiet; the guards keep them right."""

import asyncio
import logging
from typing import Final

import nats.errors
from nats.aio.client import Client
from nats.js.errors import APIError, KeyWrongLastSequenceError, NoStreamResponseError
from nats.js.kv import KeyValue

from proctor.contracts import subjects

logger = logging.getLogger(__name__)

RENEW_SECONDS: Final = 3.0


class Leadership:
    """`await acquired()` returns when this process leads; `lost` is set when it no longer does."""

    def __init__(self, connection: Client, role: str, holder: str) -> None:
        self._connection, self._role, self._holder = connection, role, holder
        self.lost = asyncio.Event()
        self._revision = 0

    async def acquired(self) -> None:
        """Waits for as long as another holds the key; a holder that died frees it after the bucket's 10 s."""
        while True:
            try:
                bucket = await self._bucket()
                self._revision = await bucket.create(self._role, self._holder.encode())
            except (KeyWrongLastSequenceError, APIError, NoStreamResponseError, nats.errors.Error, TimeoutError):
                await asyncio.sleep(0.5)
            else:
                return

    async def keep(self) -> None:
        """Renew until that fails for as long as the key lives, then set `lost` and return."""
        misses = 0
        while misses < 3:
            await asyncio.sleep(RENEW_SECONDS)
            try:
                bucket = await self._bucket()
                self._revision = await bucket.update(self._role, self._holder.encode(), self._revision)
                misses = 0
            except KeyWrongLastSequenceError:
                if not await self._taken_again():
                    break
            except (APIError, NoStreamResponseError, nats.errors.Error, TimeoutError):
                misses += 1
        logger.warning("no longer the active %s", self._role)
        self.lost.set()

    async def _taken_again(self) -> bool:
        """The key expired while the bus was away, and nobody else took it."""
        try:
            self._revision = await (await self._bucket()).create(self._role, self._holder.encode())
        except (KeyWrongLastSequenceError, APIError, NoStreamResponseError, nats.errors.Error, TimeoutError):
            return False
        return True

    async def release(self) -> None:
        """Free the key at once, so that a successor needn't wait."""
        try:
            bucket = await self._bucket()
            await bucket.delete(self._role, last=self._revision)
        except (APIError, NoStreamResponseError, nats.errors.Error, TimeoutError):
            logger.debug("leadership expires by itself")

    async def _bucket(self) -> KeyValue:
        return await self._connection.jetstream(timeout=3).key_value(subjects.LEADER_BUCKET)
