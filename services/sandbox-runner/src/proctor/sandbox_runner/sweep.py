"""Nothing is left behind: sandboxes of past lives are adopted where their grade is awaited, and removed where not."""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import nats.errors

from proctor.contracts import subjects
from proctor.contracts.events import AttemptDispatched
from proctor.contracts.folds.run import RunState, apply
from proctor.contracts.ids import sandbox_id
from proctor.contracts.messages import Held, SweepAnswer, SweepRequest
from proctor.contracts.states import AttemptStatus
from proctor.contracts.work import AttemptWork
from proctor.eventlog import EventLog
from proctor.sandbox_runner import attempt
from proctor.sandbox_runner.attempt import Try
from proctor.sandbox_runner.backends import forget_processes
from proctor.sandbox_runner.journal import Journal
from proctor.sandbox_runner.outside import Outside
from proctor.sandbox_runner.runner import Key, Runner, key_of
from proctor.sandbox_runner.sandbox.errors import SandboxError
from proctor.sandbox_runner.sandbox.protocol import Backend
from proctor.service.identity import free_folder
from proctor.service.packages import PackageError

logger = logging.getLogger(__name__)

SWEEP_SECONDS: Final = 20.0
_AWAITING: Final = frozenset({AttemptStatus.AWAITING_GRADE, AttemptStatus.GRADE_DISPATCHED, AttemptStatus.GRADING})


async def take_over(runner: Runner, outside: Outside) -> None:
    """Before the first claim: adopt what awaits its grade, remove the rest of what this runner had."""
    backend = outside.backends.preferred
    found = [(labels, held) for labels, held in await _found(backend) if labels.get("proctor.runner") == outside.worker]
    ours = [held for _, held in found]
    adopted: set[Key] = set()
    for held in ours:
        if key_of(held) not in adopted and await _adopt(runner, outside, backend, held):
            adopted.add(key_of(held))
    await _remove_spawned(backend, [(labels, held) for labels, held in found if key_of(held) in adopted])
    await _remove(outside, backend, [held for held in ours if key_of(held) not in adopted])
    await forget_processes(outside.folder)
    for held in outside.journal.entries():
        if key_of(held) not in adopted:
            await outside.cleaned(held)


async def _remove_spawned(backend: Backend, adopted: Iterable[tuple[Mapping[str, str], Held]]) -> None:
    """Sandboxes of separate verifiers, whose operations nobody remembers: the grader asks for another."""
    for labels, held in adopted:
        if labels["proctor.sandbox"] != sandbox_id(held.run, held.attempt, held.epoch):
            await backend.remove({"proctor.sandbox": labels["proctor.sandbox"]})


async def _adopt(runner: Runner, outside: Outside, backend: Backend, held: Held) -> bool:
    state, work = await _history(outside, held)
    current = state.attempt(held.attempt)
    mine = current.epoch == held.epoch and current.worker == outside.worker and current.status in _AWAITING
    if work is None or not mine:
        return False
    try:
        task = await outside.packages.load(work.task)
        sandbox = await backend.adopt(sandbox_id(held.run, held.attempt, held.epoch))
    except (PackageError, SandboxError) as error:
        logger.warning("the sandbox of attempt %s can't be adopted: %s", held.attempt, error)
        return False
    if sandbox is None:
        return False
    logger.info("adopted the sandbox of attempt %s, which awaits its grade", held.attempt)
    one = Try(work, held)
    runner.take_up(one, attempt.resume(one, outside, task, sandbox, current.step))
    return True


async def _history(outside: Outside, held: Held) -> tuple[RunState, AttemptWork | None]:
    state, work = RunState(held.workspace, held.run), None
    log = EventLog(outside.connection, outside.worker)
    async for record in log.read(subjects.run_events(held.workspace, held.run)):
        apply(state, record)
        event = record.event
        if isinstance(event, AttemptDispatched) and (event.attempt, event.epoch) == (held.attempt, held.epoch):
            work = event.work
    return state, work


async def keep_swept(runner: Runner, outside: Outside, home: Path) -> None:
    """Every 20 s, remove what is over on this engine and what dead runners of this home left. What this runner has is
    its own to clean, with what it used."""
    backend = outside.backends.preferred
    while True:
        await asyncio.sleep(SWEEP_SECONDS)
        try:
            found = await _found(backend)
            over = await _over(outside, [held for _, held in found if not runner.has(held)])
            await _remove(outside, backend, over)
            await _speak_for_the_dead(outside, home)
        except Exception:
            logger.exception("the sweep failed; the next one is in %.0f s", SWEEP_SECONDS)


async def _speak_for_the_dead(outside: Outside, home: Path) -> None:
    """A runner of this home whose lock is free has ended, and its bubblewrap sandboxes with it. Containers it left
    are found on the engine."""
    for folder in sorted((home / "runner").iterdir()):
        journal = Journal(folder / "held")
        if not journal.entries():
            continue
        with free_folder(folder) as free:
            if not free:
                continue
            await forget_processes(folder)
            containers = {key_of(held) for _, held in await _found(outside.backends.preferred)}
            for held in journal.entries():
                if key_of(held) not in containers:
                    await outside.cleaned_for(folder.name, held, journal)


async def _over(outside: Outside, found: Iterable[Held]) -> tuple[Held, ...]:
    request = SweepRequest(found=tuple(found))
    if not request.found:
        return ()
    try:
        reply = await outside.connection.request(
            subjects.lease_sweep(outside.worker), request.model_dump_json().encode(), timeout=10
        )
    except (nats.errors.Error, TimeoutError):
        return ()
    return SweepAnswer.model_validate_json(reply.data).over


async def _remove(outside: Outside, backend: Backend, over: Iterable[Held]) -> None:
    for held in over:
        removed = await backend.remove(
            {"proctor.run": held.run, "proctor.attempt": held.attempt, "proctor.epoch": str(held.epoch)}
        )
        if removed:
            logger.info("swept %s", ", ".join(removed))
            await outside.cleaned_for(None, held, outside.journal)


async def _found(backend: Backend) -> list[tuple[Mapping[str, str], Held]]:
    """What is labelled as an attempt's. A container that a person started from our image has our image's labels."""
    return [(labels, _held(labels)) for labels in await backend.found() if "proctor.attempt" in labels]


def _held(labels: Mapping[str, str]) -> Held:
    return Held(
        workspace=labels["proctor.workspace"],
        run=labels["proctor.run"],
        attempt=labels["proctor.attempt"],
        epoch=int(labels["proctor.epoch"]),
    )
