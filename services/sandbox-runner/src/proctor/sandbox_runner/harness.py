"""The agents that are Proctor's own. Each does its work in the sandbox and says how it ended."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from proctor.sandbox_runner.archive import file_tar, folder_tar
from proctor.sandbox_runner.failure import Failure
from proctor.sandbox_runner.sandbox.protocol import ExecResult, Sandbox
from proctor.tasks import Step, Task, VariableMissing, resolve_env

NOT_FOUND: Final = 127
KILLED: Final = 137
OUTPUT_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Assignment:
    """What an agent is given. `values` are its environment, `readable` is what the task's own may name; `seconds` its
    limit, None for none."""

    task: Task
    step: Step | None
    values: Mapping[str, str]
    seconds: float | None
    user: str | None
    readable: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def instruction(self) -> str:
        return self.step.instruction if self.step else self.task.instruction


@dataclass(frozen=True, slots=True)
class Ended:
    """How an agent phase ended: a policy row for anything but a clean end. `output` is kept with the logs;
    `cut` says that it was longer."""

    kind: str | None = None
    message: str | None = None
    output: bytes = b""
    cut: bool = False


Run = Callable[[Sandbox, Assignment], Awaitable[Ended]]


async def nop(sandbox: Sandbox, assignment: Assignment) -> Ended:  # noqa: ARG001
    """Do nothing."""
    return Ended()


async def oracle(sandbox: Sandbox, assignment: Assignment) -> Ended:
    """Run the task's own solution. Like Harbor's, its exit code decides nothing: the verifier does."""
    folder = _solution(assignment)
    try:
        env = resolve_env(assignment.task.config.solution.env, assignment.readable)
    except VariableMissing as error:
        raise Failure("variable_missing", str(error)) from error
    await sandbox.put(await asyncio.to_thread(folder_tar, folder), "/solution")
    solve = "/solution/solve.sh > /logs/agent/oracle.txt 2>&1"
    result = await sandbox.exec(solve, env=env, user=assignment.user, timeout=assignment.seconds, max_output=0)
    if result.timed_out:
        return _timeout(assignment)
    if result.returncode:
        return Ended(message=f"the solution exited with {result.returncode}")
    return Ended()


def _solution(assignment: Assignment) -> Path:
    root = assignment.task.path
    places = [root / "solution"]
    if assignment.step:
        places.insert(0, root / "steps" / assignment.step.name / "solution")
    for place in places:
        if (place / "solve.sh").is_file():
            return place
    raise Failure("solution_missing", f"task {assignment.task.name} has no solution/solve.sh for the oracle to run")


async def command(sandbox: Sandbox, assignment: Assignment) -> Ended:
    """Run PROCTOR_COMMAND of the agent's env, with the instruction in a file."""
    text = assignment.values.get("PROCTOR_COMMAND", "")
    if not text.strip():
        raise Failure("command_missing", "the command harness needs PROCTOR_COMMAND in the agent's env")
    await sandbox.put(file_tar("instruction.md", assignment.instruction.encode()), "/logs/agent")
    env = {
        **assignment.values,
        "PROCTOR_TASK": assignment.task.name,
        "PROCTOR_INSTRUCTION_FILE": "/logs/agent/instruction.md",
    }
    # the text is no argument, which every user of the host could read
    # no pipe in the sandbox: a service left running would hold it open, and a kill would take what is in it along
    result = await sandbox.exec(
        "exec bash -c 'eval \"$PROCTOR_COMMAND\"' 2>&1",
        env=env,
        user=assignment.user,
        timeout=assignment.seconds,
        max_output=OUTPUT_BYTES,
    )
    ended = await _command_end(sandbox, assignment, result)
    return replace(ended, output=result.stdout, cut=result.truncated)


async def _command_end(sandbox: Sandbox, assignment: Assignment, result: ExecResult) -> Ended:
    if result.timed_out:
        return _timeout(assignment)
    if result.returncode == NOT_FOUND:
        return Ended("agent_command_not_found", "the command isn't there in the sandbox (exit code 127)")
    if result.returncode == KILLED:
        facts = await sandbox.facts()
        if facts.get("oom_killed"):
            return Ended("agent_out_of_memory", "the agent used more memory than the task allows")
        return Ended("agent_killed", "the agent's command was killed")
    if result.returncode:
        return Ended("agent_exit_nonzero", f"the command exited with {result.returncode}")
    return Ended()


def _timeout(assignment: Assignment) -> Ended:
    return Ended("agent_timeout", f"the agent was stopped at its limit of {assignment.seconds:g} s")


AGENTS: Final[dict[str, Run]] = {"oracle": oracle, "nop": nop, "command": command}
