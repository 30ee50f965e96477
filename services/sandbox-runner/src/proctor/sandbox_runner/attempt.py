"""One try of one attempt, from its lease to the removal of its sandbox."""

import asyncio
import logging
import time
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from proctor.contracts.events import AgentFinished, AgentStarted, AttemptErrored, SandboxReady
from proctor.contracts.messages import Held
from proctor.contracts.work import AttemptWork
from proctor.objects import artifact_name
from proctor.sandbox_runner import collect, harness
from proctor.sandbox_runner.aftermath import COLLECT_SECONDS, blame
from proctor.sandbox_runner.archive import file_tar
from proctor.sandbox_runner.environment import agent_spec, labels_of
from proctor.sandbox_runner.failure import Failure, Phase
from proctor.sandbox_runner.grading import Grading
from proctor.sandbox_runner.meter import Meter
from proctor.sandbox_runner.outside import Outside
from proctor.sandbox_runner.prepare import prepare
from proctor.sandbox_runner.sandbox.errors import ErrorKind, SandboxError
from proctor.sandbox_runner.sandbox.protocol import Sandbox
from proctor.sandbox_runner.users import check_users, shared_users
from proctor.service.packages import PackageError
from proctor.service.vault import Values
from proctor.tasks import Step, Task

logger = logging.getLogger(__name__)

LONGEST_AGENT_SECONDS: Final = 86_400.0


@dataclass(slots=True)
class Try:
    """`steps`: the steps that may begin, put there by orders from the scheduler. `over`: nothing more is to be
    published of this epoch but that it is cleaned. `touched`: an agent phase has ended in the sandbox. `users`: those
    that were found in it."""

    work: AttemptWork
    held: Held
    claim: int = 0
    over: bool = False
    phase: Phase = "package"
    steps: asyncio.Queue[int] = field(default_factory=asyncio.Queue[int])
    highest_step: int = 0
    sandbox: Sandbox | None = None
    grading: Grading | None = None
    meter: Meter = field(default_factory=Meter)
    touched: bool = False
    users: set[str] = field(default_factory=set[str])

    def enter(self, phase: Literal["setup", "agent", "collect"]) -> None:
        self.phase = phase
        self.meter.enter(phase)

    def may_begin(self, step: int) -> None:
        """An order may come twice, pushed and by beat."""
        if step > self.highest_step:
            self.highest_step = step
            self.steps.put_nowait(step)


async def run(one: Try, outside: Outside) -> None:
    """Until the scheduler says that the epoch is over, which cancels this. Cleans up in every case."""
    await _to_its_end(one, outside, _run(one, outside))


async def resume(one: Try, outside: Outside, task: Task, sandbox: Sandbox, step: int) -> None:
    """The same with a sandbox of an earlier life of this runner, whose step `step` awaits its grade."""
    await _to_its_end(one, outside, _resume(one, outside, task, sandbox, step))


async def _to_its_end(one: Try, outside: Outside, job: Coroutine[Any, Any, None]) -> None:
    try:
        await job
    except (Failure, PackageError, SandboxError) as error:
        await _report(one, outside, str(error.kind), error.message)
    except Exception:
        logger.exception("attempt %s failed in the runner", one.work.attempt)
        await _report(one, outside, "platform_error", "the runner failed; see its log")
    finally:
        await _clean_up(one, outside)


async def _clean_up(one: Try, outside: Outside) -> None:
    """To the end, also when it is cancelled once more; an order that comes now has nothing left to do."""
    one.over = True
    await asyncio.shield(clean(one, outside))


async def _report(one: Try, outside: Outside, kind: str, message: str) -> None:
    died_with_agent = one.phase == "agent" and kind == ErrorKind.SANDBOX_GONE
    never_there = one.phase == "setup" and kind == ErrorKind.USER_MISSING
    if one.sandbox is not None and (died_with_agent or (one.touched and not never_there)):
        kind, message = await blame(one.sandbox, kind, message)
    await outside.publish(
        one, AttemptErrored(attempt=one.work.attempt, epoch=one.work.epoch, phase=one.phase, kind=kind, message=message)
    )


async def _run(one: Try, outside: Outside) -> None:
    work = one.work
    task = await outside.packages.load(work.task)
    values = await outside.values(one.held, needed=bool(work.literals or task.needed_variables))
    one.phase = "environment"
    started = time.monotonic()
    backend, note = await outside.backends.choose(
        spec := agent_spec(task, work, values.readable, labels_of(work, outside.worker))
    )
    one.meter.enter("environment")
    one.sandbox = one.meter.sandbox = sandbox = await backend.start(spec)
    one.grading = Grading(one.work, task, values.readable, sandbox, outside, meter=one.meter)
    await one.grading.open()
    await outside.publish(
        one,
        SandboxReady(
            attempt=work.attempt,
            epoch=work.epoch,
            sandbox=sandbox.id,
            backend="docker" if backend.name == "docker" else "bubblewrap",
            image=sandbox.image,
            seconds=time.monotonic() - started,
            note=note,
        ),
    )
    await _steps(one, outside, task, values, first=0)


async def _steps(one: Try, outside: Outside, task: Task, values: Values, *, first: int) -> None:
    """The steps from `first`, each after the scheduler's word, then wait to be told that the epoch is over."""
    for number in range(first, max(1, len(task.steps))):
        if number > 0:
            await _told(one, number)
        await _step(one, outside, task, number, values)
    await asyncio.Event().wait()


async def _told(one: Try, number: int) -> None:
    while await one.steps.get() < number:
        pass


async def _resume(one: Try, outside: Outside, task: Task, sandbox: Sandbox, step: int) -> None:
    one.sandbox, one.phase, one.touched = sandbox, "collect", True
    one.meter.adopt(sandbox)
    values = await outside.values(one.held, needed=bool(one.work.literals or task.needed_variables))
    one.grading = Grading(one.work, task, values.readable, sandbox, outside, meter=one.meter)
    await one.grading.open()
    await _steps(one, outside, task, values, first=step + 1)


async def _step(one: Try, outside: Outside, task: Task, number: int, values: Values) -> None:
    sandbox, work = one.sandbox, one.work
    step = task.steps[number] if task.steps else None
    assert sandbox is not None  # noqa: S101 - started before its first step
    one.enter("setup")
    begun = time.monotonic()
    await prepare(sandbox, task, number)
    await _check_users(one, sandbox, task, number)
    setup = time.monotonic() - begun
    await outside.publish(one, AgentStarted(attempt=work.attempt, epoch=work.epoch, step=number if step else None))
    one.enter("agent")
    baseline = await sandbox.snapshot()
    begun = time.monotonic()
    ended = await harness.AGENTS[work.agent.harness](sandbox, _assignment(work, task, step, values))
    seconds = time.monotonic() - begun
    one.enter("collect")
    one.touched = True
    killed = await sandbox.quiesce(baseline) if ended.kind else 0
    parts, cut = await _collect(one, sandbox, collect.declared(task, number if step else None))
    if ended.output:
        parts.insert(0, collect.Part("/logs/agent", file_tar("output.txt", ended.output)))
    phase = f"agent.{number}" if step else "agent"
    artifacts = await collect.store(
        outside.objects, artifact_name(work.run, work.attempt, work.epoch, phase), parts, cut=cut or ended.cut
    )
    await outside.publish(
        one,
        AgentFinished(
            attempt=work.attempt,
            epoch=work.epoch,
            step=number if step else None,
            kind=ended.kind,
            message=ended.message,
            seconds=seconds,
            setup_seconds=setup,
            killed=killed,
            artifacts=artifacts,
        ),
    )
    one.meter.enter("grade")


async def _check_users(one: Try, sandbox: Sandbox, task: Task, number: int) -> None:
    """Once for each: one that was there and isn't any more is not the configuration's fault."""
    named = {user: field for user, field in shared_users(task, number).items() if user not in one.users}
    await check_users(sandbox, named.items())
    one.users |= named.keys()


async def _collect(one: Try, sandbox: Sandbox, declared: list[str]) -> tuple[list[collect.Part], bool]:
    assert one.grading is not None  # noqa: S101 - opened before the first step
    aftermath = one.grading.aftermath
    aftermath.renew()
    async with aftermath.transfer():
        return await collect.fetch_phase(sandbox, declared, seconds=COLLECT_SECONDS)


def _assignment(work: AttemptWork, task: Task, step: Step | None, values: Values) -> harness.Assignment:
    tables = (step.config.agent, task.config.agent) if step else (task.config.agent,)
    seconds = next((table.timeout_sec for table in tables if table.timeout_sec is not None), None)
    user = next((table.user for table in tables if table.user is not None), None)
    return harness.Assignment(
        task=task,
        step=step,
        values=values.env,
        readable=values.readable,
        seconds=seconds * work.timeout_multiplier if seconds is not None else LONGEST_AGENT_SECONDS,
        user=str(user) if user is not None else None,
    )


async def clean(one: Try, outside: Outside) -> None:
    """Remove the sandboxes and say so. Never raises: what is left is swept later, and said then."""
    try:
        use = await one.meter.close()
        try:
            if one.grading is not None:
                await one.grading.close()
        finally:
            if one.sandbox is not None:
                await one.sandbox.stop()
    except Exception:
        logger.exception("a sandbox of attempt %s may be left; a later sweep removes it", one.work.attempt)
    else:
        await outside.cleaned(one.held, use)
