"""The three agents of our own, in a real sandbox."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from proctor.sandbox_runner.failure import Failure
from proctor.sandbox_runner.harness import AGENTS, Assignment, Ended
from proctor.sandbox_runner.sandbox.protocol import Sandbox
from proctor.tasks import Task

type LoadTask = Callable[..., Task]


def assignment(task: Task, seconds: float = 20, step: int | None = None, **values: Any) -> Assignment:
    return Assignment(task, task.steps[step] if step is not None else None, values, seconds, None, readable=values)


async def lines(box: Sandbox, path: str) -> list[str]:
    found = await box.read(path, 1 << 20)
    assert found is not None, f"no {path}"
    return found.decode().splitlines()


# oracle and nop


async def test_nop_does_nothing(box: Sandbox, a_task: LoadTask) -> None:
    assert await AGENTS["nop"](box, assignment(a_task())) == Ended()
    assert await box.read("/app/done", 10) is None


async def test_oracle_runs_the_solution(box: Sandbox, a_task: LoadTask) -> None:
    solution = '#!/bin/bash\necho "$NAME"; cat /solution/data; touch done\n'
    files = {"solution/solve.sh": solution, "solution/data": "data\n"}
    task = a_task(files, toml='[solution]\nenv = { NAME = "${WHO:-nobody}" }\n')
    assert await AGENTS["oracle"](box, assignment(task, WHO="somebody")) == Ended()
    assert await lines(box, "/logs/agent/oracle.txt") == ["somebody", "data"]
    assert await box.read("/app/done", 10) == b""


async def test_a_failing_solution_decides_nothing(box: Sandbox, a_task: LoadTask) -> None:
    task = a_task({"solution/solve.sh": "#!/bin/bash\nexit 3\n"})
    assert await AGENTS["oracle"](box, assignment(task)) == Ended(message="the solution exited with 3")


async def test_an_endless_solution_is_stopped(box: Sandbox, a_task: LoadTask) -> None:
    task = a_task({"solution/solve.sh": "#!/bin/bash\necho begun\nsleep 1000\n"})
    ended = await AGENTS["oracle"](box, assignment(task, 0.5))
    assert ended.kind == "agent_timeout"
    assert await lines(box, "/logs/agent/oracle.txt") == ["begun"]


async def test_no_solution(box: Sandbox, a_task: LoadTask) -> None:
    with pytest.raises(Failure) as failure:
        await AGENTS["oracle"](box, assignment(a_task({"solution/solve.sh": None})))
    assert failure.value.kind == "solution_missing"


async def test_a_solution_without_its_variable(box: Sandbox, a_task: LoadTask) -> None:
    task = a_task(toml='[solution]\nenv = { KEY = "${KEY}" }\n')
    with pytest.raises(Failure, match="KEY") as failure:
        await AGENTS["oracle"](box, assignment(task))
    assert failure.value.kind == "variable_missing"


async def test_a_step_has_its_own_solution_or_the_tasks(box: Sandbox, a_task: LoadTask) -> None:
    files = {
        "steps/one/instruction.md": "one\n",
        "steps/one/solution/solve.sh": "#!/bin/bash\necho own\n",
        "steps/two/instruction.md": "two\n",
        "instruction.md": None,
    }
    task = a_task(files, toml='[[steps]]\nname = "one"\n[[steps]]\nname = "two"\n')
    for step, expected in enumerate(("own", "solving")):
        await AGENTS["oracle"](box, assignment(task, step=step))
        assert await lines(box, "/logs/agent/oracle.txt") == [expected]


# command

COMMANDS = {
    # command -> kind, output
    "true": (None, b""),
    "echo out; echo err >&2": (None, b"out\nerr\n"),
    "no-such-agent": ("agent_command_not_found", b"no-such-agent: command not found\n"),
    "echo last words; exit 3": ("agent_exit_nonzero", b"last words\n"),
    "kill -9 $$": ("agent_killed", b""),
    "if": ("agent_exit_nonzero", b"unexpected end of file"),
    "printf '\\xff\\0'": (None, b"\xff\0"),
}


@pytest.mark.parametrize("command", COMMANDS)
async def test_how_a_command_ends(box: Sandbox, a_task: LoadTask, command: str) -> None:
    kind, output = COMMANDS[command]
    ended = await AGENTS["command"](box, assignment(a_task(), PROCTOR_COMMAND=command))
    assert ended.kind == kind
    assert output in ended.output
    assert not ended.cut


async def test_a_command_gets_the_task_and_its_environment(box: Sandbox, a_task: LoadTask) -> None:
    task = a_task()
    command = 'cat "$PROCTOR_INSTRUCTION_FILE"; echo "$PROCTOR_TASK $QUOTED"; pwd'
    values: dict[str, Any] = {"PROCTOR_COMMAND": command, "QUOTED": 'it\'s "so" $HOME `x`\n!'}
    ended = await AGENTS["command"](box, assignment(task, **values))
    assert ended.output.decode() == f"Make the file done.\n{task.name} {values['QUOTED']}\n/app\n"


@pytest.mark.parametrize("values", [{}, {"PROCTOR_COMMAND": "  "}])
async def test_a_command_must_be_given(box: Sandbox, a_task: LoadTask, values: dict[str, Any]) -> None:
    with pytest.raises(Failure) as failure:
        await AGENTS["command"](box, assignment(a_task(), **values))
    assert failure.value.kind == "command_missing"


async def test_a_timeout_kills_the_tree_and_keeps_the_output(box: Sandbox, a_task: LoadTask) -> None:
    command = "echo begun; (setsid sleep 1001 &) ; nohup sleep 1002 & sleep 1003"
    ended = await AGENTS["command"](box, assignment(a_task(), 0.5, PROCTOR_COMMAND=command))
    assert (ended.kind, ended.output) == ("agent_timeout", b"begun\n")
    alive = await box.exec("pgrep -x sleep || true", timeout=5)
    assert alive.stdout == b""


async def test_a_service_left_running_holds_nothing_up(box: Sandbox, a_task: LoadTask) -> None:
    """It keeps the command's output open for as long as it lives."""
    began = time.monotonic()
    ended = await AGENTS["command"](box, assignment(a_task(), PROCTOR_COMMAND="sleep 1001 & echo started"))
    assert (ended.kind, ended.output) == (None, b"started\n")
    assert time.monotonic() - began < 10
    alive = await box.exec("pgrep -cx sleep", timeout=5)
    assert alive.stdout == b"1\n"


async def test_only_the_first_of_much_output_is_kept(box: Sandbox, a_task: LoadTask) -> None:
    command = "echo begin; head -c 20000000 /dev/zero; touch done"
    ended = await AGENTS["command"](box, assignment(a_task(), PROCTOR_COMMAND=command))
    assert (ended.kind, ended.cut, len(ended.output)) == (None, True, 1 << 20)
    assert ended.output.startswith(b"begin\n")
    assert await box.read("/app/done", 10) == b""
