"""Runs a task's verifier in the sandbox that the runner holds, or in one of its own, and brings home what it wrote."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from nats.aio.client import Client

from proctor.contracts.events import Artifacts
from proctor.contracts.events.attempt import GradeSeconds
from proctor.contracts.messages import Collect, Execute, PutFolders, SandboxAnswer, Spawn
from proctor.contracts.work import GradeWork, JudgeWork
from proctor.grader.failure import GradingError
from proctor.grader.sandbox import NobodyServes, RemoteSandbox
from proctor.objects import Objects, artifact_name
from proctor.objects.tars import read_member
from proctor.service.vault import Values
from proctor.tasks import StepConfig, Task, VariableMissing, VerifierConfig, resolve_env, verifier_environment

REWARD_FILES: Final = ("reward.json", "reward.txt")
LOGS: Final = "/logs/verifier"
_RUN: Final = "/tests/test.sh > /logs/verifier/test-stdout.txt 2>&1"


@dataclass(frozen=True, slots=True)
class Verified:
    """`files` are the reward files found. `timed_out`: the verifier's limit in seconds, None when it kept to it."""

    files: Mapping[str, bytes]
    seconds: GradeSeconds
    artifacts: Artifacts | None
    timed_out: float | None


async def verify(connection: Client, objects: Objects, work: GradeWork, task: Task, values: Values) -> Verified:
    """Raises `GradingError` when the verifier could not be run at all."""
    step = task.steps[work.step].config if work.step is not None else None
    config = step.verifier if step and step.verifier.model_fields_set else task.config.verifier
    name = f"{work.attempt}.{work.epoch}.{work.step or 0}"
    agents = RemoteSandbox(connection, work.sandbox)
    await _hooks(agents, config, name)
    separate = verifier_environment(task.path, task.config, step)
    tests = _tests(name, step, in_image=separate is not None and separate.has_tests)
    limit = _limit(task, config) * work.timeout_multiplier
    began = time.monotonic()
    script = Execute(
        id=f"{name}.run",
        command=_RUN,
        env=_environment(task, config, _with_judge(work.judge, values)),
        user=str(config.user) if config.user is not None else None,
        timeout=limit,
    )
    phase = "verifier" if work.step is None else f"verifier.{work.step}"
    results = Collect(
        id=f"{name}.collect",
        path=LOGS,
        object=artifact_name(work.run, work.attempt, work.epoch, phase),
        inline=REWARD_FILES,
    )
    while True:
        sandbox = agents if separate is None else await _spawned(connection, agents, name, work.step)
        startup = time.monotonic() - began
        try:
            put, ran, home = [await sandbox.call(request) for request in (tests, script, results)]
            break
        except NobodyServes:
            # the same operations again: they attach where the sandbox is there after all
            continue
    return Verified(
        files=await _rewards(objects, home),
        seconds=GradeSeconds(startup=startup, transfer=put.seconds, run=ran.seconds, parse=home.seconds),
        artifacts=_artifacts(home),
        timed_out=limit if ran.timed_out else None,
    )


async def _spawned(connection: Client, agents: RemoteSandbox, name: str, step: int | None) -> RemoteSandbox:
    """The verifier's own sandbox: the one there is, or a new one after the runner was started again."""
    answer = await agents.call(Spawn(id=f"{name}.spawn", step=step))
    return RemoteSandbox(connection, answer.sandbox or "", spawned=True)


async def _hooks(sandbox: RemoteSandbox, config: VerifierConfig, name: str) -> None:
    """The task's `[[verifier.collect]]` commands: best effort, in the agent's sandbox."""
    for number, hook in enumerate(config.collect):
        await sandbox.call(
            Execute(
                id=f"{name}.hook.{number}",
                command=hook.command,
                user=str(hook.user) if hook.user is not None else None,
                timeout=hook.timeout_sec,
            )
        )


def _tests(name: str, step: StepConfig | None, *, in_image: bool) -> PutFolders:
    """The tests appear only now, and in place of whatever an agent put there."""
    folders = ("tests",) if step is None else ("tests", f"steps/{step.name}/tests")
    if in_image:
        return PutFolders(id=f"{name}.put", folders=(), target=LOGS, clean=(LOGS,))
    return PutFolders(id=f"{name}.put", folders=folders, target="/tests", clean=("/tests", LOGS))


def _limit(task: Task, config: VerifierConfig) -> float:
    own = "timeout_sec" in config.model_fields_set
    return config.timeout_sec if own else task.config.verifier.timeout_sec


def _with_judge(judge: JudgeWork | None, values: Values) -> Values:
    """The judge's key and model under the names that the benchmark's verifier reads."""
    if judge is None:
        return values
    if judge.key_secret not in values.env:
        raise GradingError("secret_missing", f"the judge's secret {judge.key_secret} has no value")
    judged = {judge.key_variable: values.env[judge.key_secret]}
    if judge.model_variable is not None and judge.model is not None:
        judged[judge.model_variable] = judge.model
    return Values({**values.env, **judged}, {**values.readable, **judged})


def _environment(task: Task, config: VerifierConfig, values: Values) -> dict[str, str]:
    try:
        return {**values.env, **resolve_env({**task.config.verifier.env, **config.env}, values.readable)}
    except VariableMissing as error:
        raise GradingError("variable_missing", str(error)) from error


async def _rewards(objects: Objects, home: SandboxAnswer) -> Mapping[str, bytes]:
    """Inline where they are small; otherwise from the stored object."""
    if home.object is None or any(name in home.files for name in REWARD_FILES):
        return home.files
    data = await objects.get(home.object)
    found = ((name, read_member(data, f"{LOGS.strip('/')}/{name}")) for name in REWARD_FILES)
    return {name: content for name, content in found if content is not None}


def _artifacts(home: SandboxAnswer) -> Artifacts | None:
    if home.object is None:
        return None
    return Artifacts(object=home.object, size=home.size, files=home.count, cut=home.cut)
