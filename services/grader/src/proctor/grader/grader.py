"""The gradings this process has under way."""

import asyncio
import logging

from nats.aio.client import Client

from proctor.contracts.events import GradeClaimed, GradeDispatched, RunEvent
from proctor.contracts.messages import Beat, BeatAnswer, Held, LeaseOrder, LeaseRequest, VaultRequest
from proctor.contracts.work import GradeWork
from proctor.eventlog import EventLog
from proctor.grader.failure import GradingError
from proctor.grader.settings import GraderSettings
from proctor.grader.verdict import failed, verdict
from proctor.grader.verify import verify
from proctor.objects import Objects
from proctor.service.identity import Identity
from proctor.service.lease import ask_lease
from proctor.service.packages import PackageError, Packages
from proctor.service.vault import NO_VALUES, ask_values

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 600.0
Key = tuple[Held, int]
"""What is held, and the round of its grading."""


class Grader:
    def __init__(
        self, identity: Identity, settings: GraderSettings, connection: Client, objects: Objects, packages: Packages
    ) -> None:
        self.identity, self.capacity, self._host = identity, settings.grader_capacity, settings.host
        self._connection, self._objects, self._packages = connection, objects, packages
        self._log = EventLog(connection, identity.worker)
        self._tasks: dict[Key, asyncio.Task[None]] = {}
        self._place_free = asyncio.Condition()
        self.draining = False

    async def claim(self, event: GradeDispatched) -> int:
        """The sequence of the claim."""
        work = event.work
        return await self._append(
            work,
            GradeClaimed(
                attempt=work.attempt,
                epoch=work.epoch,
                round=work.round,
                worker=self.identity.worker,
                incarnation=self.identity.incarnation,
            ),
        )

    def start(self, work: GradeWork, sequence: int) -> None:
        """Does nothing for a round that is under way: an item whose ack was lost comes again."""
        key = Held(workspace=work.workspace, run=work.run, attempt=work.attempt, epoch=work.epoch), work.round
        if key not in self._tasks:
            self._tasks[key] = asyncio.create_task(self._leased(work, key, sequence))

    async def _leased(self, work: GradeWork, key: Key, sequence: int) -> None:
        held, _ = key
        try:
            answer = await ask_lease(
                self._connection,
                LeaseRequest(
                    held=held,
                    kind="grade",
                    round=work.round,
                    worker=self.identity.worker,
                    incarnation=self.identity.incarnation,
                    sequence=sequence,
                ),
            )
            if answer.granted:
                await self._append(work, await self._grade(work, held))
            else:
                logger.info("the grading of attempt %s is not ours: %s", work.attempt, answer.reason)
        except Exception:
            logger.exception("the grading of attempt %s ended by an error; it is dispatched again", work.attempt)
        finally:
            del self._tasks[key]
            async with self._place_free:
                self._place_free.notify_all()

    async def _grade(self, work: GradeWork, held: Held) -> RunEvent:
        artifacts = None
        try:
            task = await self._packages.load(work.task)
            values = NO_VALUES
            if work.literals or task.needed_variables:
                values = await ask_values(self._connection, VaultRequest(held=held, worker=self.identity.worker))
            verified = await verify(self._connection, self._objects, work, task, values)
            artifacts = verified.artifacts
            if verified.timed_out is not None:
                message = f"the verifier was stopped at its limit of {verified.timed_out:g} s"
                return failed(work, GradingError("verifier_timeout", message), artifacts)
            return verdict(work, task, verified.files, verified.seconds, artifacts)
        except (GradingError, PackageError) as error:
            return failed(work, GradingError(error.kind, error.message), artifacts)
        except LookupError as error:
            return failed(work, GradingError("secret_missing", str(error)), artifacts)

    async def _append(self, work: GradeWork, event: RunEvent) -> int:
        return await self._log.append(
            event,
            workspace=work.workspace,
            aggregate="run",
            id=work.run,
            message_id=f"{work.run}.{work.attempt}.{work.epoch}.{work.round}.{event.type}.{self.identity.worker}",
            patience=PATIENCE_SECONDS,
        )

    async def place(self) -> None:
        """Wait until one more grading fits."""
        async with self._place_free:
            await self._place_free.wait_for(lambda: len(self._tasks) < self.capacity)

    def beat(self, version: str, pool: str) -> Beat:
        return Beat(
            worker=self.identity.worker,
            incarnation=self.identity.incarnation,
            kind="grader",
            pools=(pool,),
            host=self._host,
            capacity=self.capacity,
            free=max(0, self.capacity - len(self._tasks)),
            draining=self.draining,
            held=tuple(dict.fromkeys(held for held, _ in self._tasks)),
            version=version,
        )

    def heed(self, answer: BeatAnswer) -> None:
        for held in answer.over:
            self._over(held)

    def ordered(self, order: LeaseOrder) -> None:
        if order.step is None:
            self._over(order.held)

    def _over(self, held: Held) -> None:
        for (other, _), task in self._tasks.items():
            if other == held:
                task.cancel()

    async def stop(self) -> None:
        """Give up what is under way; another grader attaches to the same operations."""
        self.draining = True
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
