"""The users that a task names, looked for before anything runs as them."""

import shlex
from collections.abc import Iterable
from typing import Final

from proctor.sandbox_runner.failure import Failure
from proctor.sandbox_runner.sandbox.protocol import Sandbox
from proctor.tasks import Task, VerifierConfig, verifier_environment

_SECONDS: Final = 30.0
_NO_SUCH_USER: Final = 1


def shared_users(task: Task, number: int) -> dict[str, str]:
    """Who works in the agent's sandbox in a step, each with the field that names it."""
    step = task.steps[number].config if task.steps else None
    agent = step.agent.user if step and step.agent.user is not None else task.config.agent.user
    verifier = _verifier(task, number)
    named = [(agent, "[agent] user"), *((hook.user, "[[verifier.collect]] user") for hook in verifier.collect)]
    if verifier_environment(task.path, task.config, step) is None:
        named.append((verifier.user, "[verifier] user"))
    return {str(user): field for user, field in named if user is not None}


def verifier_user(task: Task, number: int | None) -> str | int | None:
    return _verifier(task, number).user


def _verifier(task: Task, number: int | None) -> VerifierConfig:
    step = task.steps[number].config if task.steps and number is not None else None
    return step.verifier if step and step.verifier.model_fields_set else task.config.verifier


async def check_users(sandbox: Sandbox, named: Iterable[tuple[str, str]]) -> None:
    """Raises `Failure` for the first user, of (user, field), that the sandbox doesn't have. Numbers need no account."""
    for user, field in named:
        name = user.partition(":")[0]
        if name.isdecimal() or name == "root":
            continue
        command = f"id -u -- {shlex.quote(name)}"
        found = await sandbox.exec(command, cwd="/", user="root", timeout=_SECONDS, max_output=0)
        if found.returncode == _NO_SUCH_USER:
            fix = "create it in the Dockerfile or name another"
            raise Failure("user_missing", f'{field} = "{user}": the environment has no such user; {fix}')
