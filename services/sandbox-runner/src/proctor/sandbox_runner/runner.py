"""The runner's tries: claimed, leased, run side by side, and told when they are over."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from proctor.contracts.events import AttemptClaimed, AttemptDispatched
from proctor.contracts.messages import Beat, BeatAnswer, Held, LeaseOrder, LeaseRequest
from proctor.sandbox_runner import attempt
from proctor.sandbox_runner.attempt import Try
from proctor.sandbox_runner.outside import Outside
from proctor.service.identity import Identity
from proctor.service.lease import ask_lease

logger = logging.getLogger(__name__)

STOP_SECONDS = 3.0
Key = tuple[str, str, int]


def key_of(held: Held) -> Key:
    return held.run, held.attempt, held.epoch


class Runner:
    def __init__(self, identity: Identity, host: str, capacity: int, outside: Outside) -> None:
        self.identity, self.capacity = identity, capacity
        self._host, self._outside = host, outside
        self._tries: dict[Key, Try] = {}
        self._tasks: dict[Key, asyncio.Task[None]] = {}
        self._place_free = asyncio.Condition()
        self.draining = False

    # claiming

    async def claim(self, event: AttemptDispatched) -> Try | None:
        """Append the claim. None when we hold this epoch already."""
        work = event.work
        one = Try(work, Held(workspace=work.workspace, run=work.run, attempt=work.attempt, epoch=work.epoch))
        if key_of(one.held) in self._tries:
            return None
        self._tries[key_of(one.held)] = one
        claimed = AttemptClaimed(
            attempt=work.attempt,
            epoch=work.epoch,
            worker=self.identity.worker,
            incarnation=self.identity.incarnation,
            host=self._host,
        )
        self._outside.journal.add(one.held)
        try:
            one.claim = await self._outside.publish(one, claimed) or 0
        except BaseException:
            del self._tries[key_of(one.held)]
            raise
        return one

    async def start(self, one: Try) -> None:
        """Run a claimed try if the scheduler grants its lease; otherwise there is nothing to clean, which is said."""
        request = LeaseRequest(
            held=one.held,
            kind="attempt",
            worker=self.identity.worker,
            incarnation=self.identity.incarnation,
            sequence=one.claim,
        )
        answer = await ask_lease(self._outside.connection, request)
        if not answer.granted or one.over:
            logger.info("attempt %s epoch %d is not ours: %s", one.work.attempt, one.work.epoch, answer.reason)
            await self._outside.cleaned(one.held)
            await self._forget(one)
            return
        self.take_up(one, attempt.run(one, self._outside))

    def take_up(self, one: Try, job: Coroutine[Any, Any, None]) -> None:
        self._tries[key_of(one.held)] = one
        task = self._tasks[key_of(one.held)] = asyncio.create_task(self._run(one, job))
        task.add_done_callback(_log_failure)

    async def _run(self, one: Try, job: Coroutine[Any, Any, None]) -> None:
        what = f"{one.work.task.name} for {one.work.agent.harness} in {one.work.run_name}, attempt {one.work.attempt}"
        logger.info("took %s", what)
        try:
            await job
        finally:
            logger.info("done with %s", what)
            await self._forget(one)

    async def _forget(self, one: Try) -> None:
        self._tries.pop(key_of(one.held), None)
        self._tasks.pop(key_of(one.held), None)
        async with self._place_free:
            self._place_free.notify_all()

    async def place(self) -> None:
        """Wait until one more try fits, or until it drains."""
        async with self._place_free:
            await self._place_free.wait_for(lambda: len(self._tries) < self.capacity or self.draining)

    def has(self, held: Held) -> bool:
        return key_of(held) in self._tries

    # orders

    def beat(self, version: str, pool: str) -> Beat:
        preferred = self._outside.backends.preferred
        return Beat(
            worker=self.identity.worker,
            incarnation=self.identity.incarnation,
            kind="runner",
            pools=(pool,),
            host=self._host,
            engine=None if preferred.trusted_only else self._host,
            capacity=self.capacity,
            free=max(0, self.capacity - len(self._tries)),
            draining=self.draining,
            held=tuple(one.held for one in self._tries.values()),
            version=version,
            backend=preferred.name,
        )

    def heed(self, answer: BeatAnswer) -> None:
        for held in answer.over:
            self._over(held)
        for order in answer.steps:
            self._step(order.held, order.step)

    def ordered(self, order: LeaseOrder) -> None:
        if order.step is None:
            self._over(order.held)
        else:
            self._step(order.held, order.step)

    def _over(self, held: Held) -> None:
        one, task = self._tries.get(key_of(held)), self._tasks.get(key_of(held))
        if one is not None and not one.over:
            one.over = True
            if task is not None:
                task.cancel()

    def _step(self, held: Held, step: int) -> None:
        one = self._tries.get(key_of(held))
        if one is not None:
            one.may_begin(step)

    async def drain(self) -> None:
        """Take nothing more."""
        self.draining = True
        async with self._place_free:
            self._place_free.notify_all()

    async def stop(self) -> None:
        """Hand everything back: sandboxes are removed, nothing more is published of their epochs."""
        await self.drain()
        self._outside.patience = STOP_SECONDS
        tasks = list(self._tasks.values())
        for held in [one.held for one in self._tries.values()]:
            self._over(held)
        await asyncio.gather(*tasks, return_exceptions=True)


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()):
        logger.error("a try ended by an error of the runner", exc_info=error)
