"""A worker's talk with the scheduler: leases, beats, orders."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from proctor.contracts import subjects
from proctor.contracts.messages import Beat, BeatAnswer, LeaseAnswer, LeaseOrder, LeaseRequest

logger = logging.getLogger(__name__)

BEAT_SECONDS: Final = 5.0
UNHEARD_SECONDS: Final = 0.5
LEASE_SECONDS: Final = 20.0


async def ask_lease(connection: Client, request: LeaseRequest) -> LeaseAnswer:
    """Whether what was claimed may start. A scheduler that is silent for 20 s is a no."""
    deadline = asyncio.get_running_loop().time() + LEASE_SECONDS
    payload = request.model_dump_json().encode()
    while asyncio.get_running_loop().time() < deadline:
        try:
            reply = await connection.request(subjects.lease_start(request.worker), payload, timeout=6)
        except (nats.errors.Error, TimeoutError):
            await asyncio.sleep(0.3)
        else:
            return LeaseAnswer.model_validate_json(reply.data)
    return LeaseAnswer(granted=False, reason="the scheduler doesn't answer")


async def hear_orders(connection: Client, worker: str, heed: Callable[[LeaseOrder], None]) -> None:
    async def receive(message: Msg) -> None:
        heed(LeaseOrder.model_validate_json(message.data))

    await connection.subscribe(subjects.lease_order(worker), cb=receive)


class Beats:
    """Says every 5 s what the worker holds, and has the answer heeded."""

    def __init__(self, connection: Client, make: Callable[[], Beat], heed: Callable[[BeatAnswer], None]) -> None:
        self._connection, self._make, self._heed = connection, make, heed

    async def once(self) -> bool:
        """Whether the scheduler answered."""
        beat = self._make()
        try:
            reply = await self._connection.request(
                subjects.beat(beat.worker), beat.model_dump_json().encode(), timeout=3
            )
        except (nats.errors.Error, TimeoutError):
            return False
        self._heed(BeatAnswer.model_validate_json(reply.data))
        return True

    async def keep(self) -> None:
        while True:
            heard = await self.once()
            await asyncio.sleep(BEAT_SECONDS if heard else UNHEARD_SECONDS)
