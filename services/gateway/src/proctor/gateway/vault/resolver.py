"""Answers a worker that asks for the environment of the attempt in its lease, and no other."""

import logging
from dataclasses import dataclass
from typing import Annotated

from faststream.nats import NatsBroker
from faststream.params import Path

from proctor.contracts import subjects
from proctor.contracts.folds.run import RunState
from proctor.contracts.ids import Cell
from proctor.contracts.messages import VaultAnswer, VaultRequest
from proctor.contracts.states import HELD_BY_RUNNER, AttemptStatus
from proctor.gateway.folds import RunFolds
from proctor.gateway.vault.cipher import Sealer, WrongKey
from proctor.gateway.vault.values import load
from proctor.service.postgres import Pool

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Resolver:
    pool: Pool
    folds: RunFolds
    sealer: Sealer

    async def answer(self, request: VaultRequest, worker: str) -> VaultAnswer:
        """`worker` is the one that the subject, and so the bus's permissions, vouch for."""
        held = request.held
        reason = refusal(await self.folds.latest(held.workspace, held.run), request, worker)
        if reason is not None:
            logger.warning("refused %s the environment of %s/%s: %s", worker, held.run, held.attempt, reason)
            return VaultAnswer(error=reason)
        try:
            values = await load(self.pool, self.sealer, held.workspace, held.run)
        except WrongKey:
            return VaultAnswer(error="the run's values were sealed with another vault key")
        if values is None:
            return VaultAnswer(error="the run's values are gone")
        return VaultAnswer(values=values.of_agent(Cell.parse(held.attempt).agent))


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
    runs_it = attempt.status in HELD_BY_RUNNER and attempt.worker == worker
    grades_it = attempt.status is AttemptStatus.GRADING and attempt.grader == worker
    return None if runs_it or grades_it else "another worker holds it, or none"


def subscribe(broker: NatsBroker, resolver: Resolver) -> None:
    """Of several gateways, one answers."""

    @broker.subscriber(subjects.vault_resolve("{worker}"), queue="gateway")
    async def resolve(request: VaultRequest, worker: Annotated[str, Path()]) -> VaultAnswer:  # pyright: ignore[reportUnusedFunction]
        return await resolver.answer(request, worker)
