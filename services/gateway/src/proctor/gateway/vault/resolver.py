"""Answers a worker that asks for the values of the attempt in its lease, and no other."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from faststream.nats import NatsBroker
from faststream.params import Path

from proctor.contracts import subjects
from proctor.contracts.events import RunSubmitted
from proctor.contracts.folds.run import RunState
from proctor.contracts.ids import Cell
from proctor.contracts.messages import VaultAnswer, VaultRequest
from proctor.contracts.states import HELD_BY_RUNNER, AttemptStatus
from proctor.gateway.folds import RunFolds
from proctor.gateway.vault.cipher import Sealer, WrongKey
from proctor.gateway.vault.locks import NeededVariables
from proctor.gateway.vault.lookup import Value, values_of
from proctor.gateway.vault.values import literals, provided
from proctor.gateway.vault.wanted import Wanted, answer, wanted
from proctor.objects import ObjectMissing
from proctor.service.postgres import Pool

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Resolver:
    pool: Pool
    folds: RunFolds
    needed: NeededVariables
    sealer: Sealer

    async def answer(self, request: VaultRequest, worker: str) -> VaultAnswer:
        """`worker` is the one that the subject, and so the bus's permissions, vouch for."""
        held = request.held
        state = await self.folds.latest(held.workspace, held.run)
        reason = refusal(state, request, worker)
        if reason is not None or state is None or state.submitted is None or state.planned is None:
            reason = reason or "the run isn't planned"
            logger.warning("refused %s the environment of %s/%s: %s", worker, held.run, held.attempt, reason)
            return VaultAnswer(error=reason)
        submitted, lock, cell = state.submitted, state.planned.lock, Cell.parse(held.attempt)
        grades = not _runs(state, held.attempt, worker)
        try:
            needed = await self.needed.of(lock, cell.task)
            asked = wanted(submitted.config, cell.agent, needed, grades=grades)
            own = await literals(self.pool, self.sealer, held.workspace, held.run)
            secrets = await self._secrets(held.workspace, submitted, asked)
        except WrongKey as error:
            logger.error("%s can't be opened: it was sealed with a key that isn't here, or changed since", error)  # noqa: TRY400
            return VaultAnswer(error="a value was sealed with a key that the vault doesn't have; its log says which")
        except ObjectMissing:
            return VaultAnswer(error="the run's lock is no longer stored")
        except LookupError as error:
            return VaultAnswer(error=str(error))
        return answer(asked, own.of_agent(cell.agent), secrets, grades=grades)

    async def _secrets(self, workspace: str, submitted: RunSubmitted, asked: Wanted) -> Mapping[str, Value]:
        """As they are now: given with the run, else the submitter's own, else the workspace's."""
        names = {*asked.set, *asked.readable}
        if not names:
            return {}
        member = (workspace, submitted.submitted_by)
        stored = await values_of(self.pool, self.sealer, member, names, asked.named)
        given = await provided(self.pool, self.sealer, workspace, submitted.run)
        return stored | {name: Value(text, "run:1") for name, text in given.items() if name in names}


def refusal(state: RunState | None, request: VaultRequest, worker: str) -> str | None:
    """Why the worker may not have it; None when the log says that it holds the attempt's current epoch."""
    held = request.held
    if request.worker != worker:
        return "a worker asks for itself only"
    if state is None or not state.contains(held.attempt):
        return "there is no such attempt"
    attempt = state.attempt(held.attempt)
    if attempt.epoch != held.epoch:
        return "that epoch is over" if held.epoch < attempt.epoch else "that epoch hasn't begun"
    grades_it = attempt.status is AttemptStatus.GRADING and attempt.grader == worker
    return None if _runs(state, held.attempt, worker) or grades_it else "another worker holds it, or none"


def _runs(state: RunState, attempt: str, worker: str) -> bool:
    """Whether it is the attempt's runner; of one that isn't, and holds it, the grader."""
    held = state.attempt(attempt)
    return held.status in HELD_BY_RUNNER and held.worker == worker


def subscribe(broker: NatsBroker, resolver: Resolver) -> None:
    """Of several gateways, one answers."""

    @broker.subscriber(subjects.vault_resolve("{worker}"), queue="gateway")
    async def resolve(request: VaultRequest, worker: Annotated[str, Path()]) -> VaultAnswer:  # pyright: ignore[reportUnusedFunction]
        return await resolver.answer(request, worker)
