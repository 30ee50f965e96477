"""Tries from their claim to the removal of their sandbox, on the real log."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from proctor.contracts import subjects
from proctor.contracts.events import (
    AgentFinished,
    AgentStarted,
    AttemptClaimed,
    AttemptCleaned,
    AttemptDispatched,
    AttemptErrored,
    SandboxReady,
)
from proctor.contracts.messages import BeatAnswer, Execute, LeaseOrder, StepOrder
from proctor.objects import Objects
from proctor.objects.tars import list_members, read_member
from proctor.sandbox_runner.archive import file_tar

type MakeTask = Callable[..., Path]
type MakeStage = Callable[..., Awaitable[Any]]

TO_THE_GRADE = ["claimed", "sandbox_ready", "agent_started", "agent_finished"]


async def settled(stage: Any) -> None:
    async with asyncio.timeout(10):
        while stage.held():
            await asyncio.sleep(0.01)


async def test_an_attempt_goes_to_its_grade_and_is_held(stage: Any, make_task: MakeTask, bus: Client) -> None:
    work = await stage.work(make_task())
    one = await stage.take(work)
    finished = await stage.until(work, AgentFinished)
    assert await stage.types(work) == TO_THE_GRADE
    assert (finished.kind, finished.killed, finished.step) == (None, 0, None)
    data = await Objects(bus).get(finished.artifacts.object)
    assert read_member(data, "logs/agent/oracle.txt") == b"solving\n"
    assert stage.held() == [one.held] == stage.outside.journal.entries()
    assert (await stage.call(work, Execute(id="x", command="[[ -f done ]]", timeout=5))).returncode == 0


async def test_the_commands_output_is_kept(stage: Any, make_task: MakeTask, bus: Client) -> None:
    stage.values = {"PROCTOR_COMMAND": "echo words; echo mine >/logs/agent/trace; exit 4"}
    work = await stage.work(make_task(), "command")
    await stage.take(work)
    finished = await stage.until(work, AgentFinished)
    assert finished.kind == "agent_exit_nonzero"
    data = await Objects(bus).get(finished.artifacts.object)
    assert [member.path for member in list_members(data)] == [
        "logs/agent/instruction.md",
        "logs/agent/output.txt",
        "logs/agent/trace",
    ]
    assert read_member(data, "logs/agent/output.txt") == b"words\n"


async def test_what_a_timed_out_agent_left_is_dead_before_the_grade(stage: Any, make_task: MakeTask) -> None:
    stage.values = {"PROCTOR_COMMAND": "(setsid sleep 1001 &) ; sleep 1002"}
    task = make_task({"task.toml": "[agent]\ntimeout_sec = 0.5\n"})
    work = await stage.work(task, "command")
    await stage.take(work)
    assert (await stage.until(work, AgentFinished)).kind == "agent_timeout"
    assert (await stage.call(work, Execute(id="x", command="pgrep -x sleep", timeout=5))).returncode == 1


@pytest.mark.parametrize(("exit_code", "killed"), [(3, 1), (0, 0)])
async def test_services_survive_a_clean_end_only(stage: Any, make_task: MakeTask, exit_code: int, killed: int) -> None:
    stage.values = {"PROCTOR_COMMAND": f"setsid sleep 1001 & exit {exit_code}"}
    work = await stage.work(make_task(), "command")
    await stage.take(work)
    assert (await stage.until(work, AgentFinished)).killed == killed
    assert (await stage.call(work, Execute(id="x", command="pgrep -x sleep", timeout=5))).returncode == killed


# over


async def test_nothing_is_published_of_what_is_over(stage: Any, make_task: MakeTask) -> None:
    work = await stage.work(make_task())
    one = await stage.take(work)
    await stage.until(work, AgentFinished)
    one.over = True
    assert await stage.outside.publish(one, AgentStarted(attempt=work.attempt, epoch=work.epoch)) is None
    assert await stage.types(work) == TO_THE_GRADE
    one.over = False


async def _order(stage: Any, one: Any) -> None:
    stage.runner.ordered(LeaseOrder(held=one.held))


async def _beat(stage: Any, one: Any) -> None:
    stage.runner.heed(BeatAnswer(over=(one.held,)))


async def _stop(stage: Any, one: Any) -> None:
    await stage.runner.stop()


SLOW_SETUP = '[environment.healthcheck]\ncommand = "false"\nstart_period_sec = 60\nstart_interval_sec = 0.01\n'
MOMENTS: dict[str, tuple[Any, dict[str, str], str, str]] = {
    # the last event before the order, files of the task, the rest of its task.toml, harness
    "package load": (AttemptClaimed, {}, "", "oracle"),
    "environment start": (AttemptClaimed, {}, "", "oracle"),
    "health check": (SandboxReady, {}, SLOW_SETUP, "oracle"),
    "agent phase": (AgentStarted, {"solution/solve.sh": "#!/bin/bash\nsleep 1000\n"}, "", "oracle"),
    "awaiting grade": (AgentFinished, {}, "", "oracle"),
}


@pytest.mark.parametrize("end", [_order, _beat, _stop])
@pytest.mark.parametrize("moment", MOMENTS)
async def test_an_epoch_that_is_over_is_cleaned_and_says_no_more(
    stage: Any, make_task: MakeTask, moment: str, end: Callable[[Any, Any], Awaitable[None]]
) -> None:
    last, files, toml, harness = MOMENTS[moment]
    work = await stage.work(make_task(files, toml=toml), harness)
    if moment == "environment start":
        await stage.outside.packages.load(work.task)
    one = await stage.take(work)
    await stage.until(work, last)
    if moment == "environment start":
        await asyncio.sleep(0.005)
    before = await stage.types(work)
    await end(stage, one)
    await settled(stage)
    after = await stage.types(work)
    assert after[-1] == "cleaned"
    assert set(after[:-1]) <= set(before) | {"sandbox_ready"}
    assert "errored" not in after
    assert await stage.backend.remove({"proctor.run": work.run}) == []
    assert stage.outside.journal.entries() == []
    await asyncio.sleep(0.05)
    assert await stage.types(work) == after


async def test_one_that_is_over_leaves_its_siblings_alone(stage: Any, make_task: MakeTask) -> None:
    task = make_task()
    works = [await stage.work(task, attempt=f"0-0-{number}") for number in (1, 2)]
    one, _ = [await stage.take(work) for work in works]
    await asyncio.gather(*(stage.until(work, AgentFinished) for work in works))
    await _order(stage, one)
    await stage.until(works[0], AttemptCleaned)
    assert (await stage.call(works[1], Execute(id="x", command="true", timeout=5))).returncode == 0


# leases and places


async def test_without_a_lease_nothing_runs_and_the_claim_is_closed(stage: Any, make_task: MakeTask) -> None:
    stage.granted = False
    work = await stage.work(make_task())
    await stage.take(work)
    assert await stage.types(work) == ["claimed", "cleaned"]
    assert (stage.held(), stage.outside.journal.entries()) == ([], [])


async def test_what_is_held_is_not_claimed_again(stage: Any, make_task: MakeTask) -> None:
    work = await stage.work(make_task())
    await stage.take(work)
    again = AttemptDispatched(attempt=work.attempt, epoch=work.epoch, pool="p", work=work)
    assert await stage.runner.claim(again) is None
    await stage.until(work, AgentFinished)
    assert (await stage.types(work)).count("claimed") == 1


async def test_there_is_no_place_beyond_the_capacity(make_stage: MakeStage, make_task: MakeTask) -> None:
    stage = await make_stage(capacity=2)
    task = make_task()
    works = [await stage.work(task, attempt=f"0-0-{number}") for number in (1, 2)]
    tries: list[Any] = []
    for work in works:
        await asyncio.wait_for(stage.runner.place(), 1)
        tries.append(await stage.take(work))
    await asyncio.gather(*(stage.until(work, AgentFinished) for work in works))
    assert stage.runner.beat("0", "p").free == 0
    waiting = asyncio.create_task(stage.runner.place())
    await asyncio.sleep(0.05)
    assert not waiting.done()
    await _order(stage, tries[0])
    await asyncio.wait_for(waiting, 5)


async def test_who_waits_for_a_place_is_let_go_when_it_drains(make_stage: MakeStage, make_task: MakeTask) -> None:
    stage = await make_stage(capacity=1)
    await stage.take(await stage.work(make_task()))
    waiting = asyncio.create_task(stage.runner.place())
    await asyncio.sleep(0.02)
    assert not waiting.done()
    await stage.runner.drain()
    await asyncio.wait_for(waiting, 1)
    assert stage.runner.beat("0", "p").draining
    assert len(stage.held()) == 1


# failures

FAILURES: dict[str, tuple[dict[str, str | None], str, str, dict[str, str] | None, str, str]] = {
    # files, toml, harness, vault -> kind, phase
    "solution": ({"solution/solve.sh": None}, "", "oracle", {}, "solution_missing", "agent"),
    "command": ({}, "", "command", {}, "command_missing", "agent"),
    "secret": ({}, "", "command", None, "secret_missing", "package"),
    "variable": ({}, '[verifier]\nenv = { A = "${A}" }\n[solution]\nenv = { B = "${B}" }\n', "oracle", {"A": "x"},
                 "variable_missing", "agent"),
    "image": ({"environment/Dockerfile": "FROM x\nRUN make\n"}, "", "oracle", {},
              "unsupported_environment", "environment"),
    "compose": ({"environment/docker-compose.yaml": "services: {main: {image: x}}\n"}, "", "oracle", {},
                "unsupported_environment", "environment"),
    "health": ({}, '[environment.healthcheck]\ncommand = "false"\nretries = 1\n', "nop", {},
               "healthcheck_failed", "setup"),
    "agent's user": ({"task.toml": '[agent]\nuser = "nosuch"\n'}, "", "oracle", {}, "user_missing", "setup"),
    "verifier's user": ({}, '[verifier]\nuser = "nosuch"\n', "nop", {}, "user_missing", "setup"),
}  # fmt: skip


@pytest.mark.parametrize("case", FAILURES)
async def test_a_failure_says_its_kind_and_phase(stage: Any, make_task: MakeTask, case: str) -> None:
    files, toml, harness, stage.values, kind, phase = FAILURES[case]
    work = await stage.work(make_task(files, toml=toml), harness)
    await stage.take(work)
    errored = await stage.until(work, AttemptErrored)
    assert (errored.kind, errored.phase) == (kind, phase)
    assert errored.message
    await stage.until(work, AttemptCleaned)
    await settled(stage)
    assert stage.outside.journal.entries() == []
    assert await stage.backend.remove({"proctor.run": work.run}) == []


async def test_packages_that_cannot_be_had(stage: Any, make_task: MakeTask) -> None:
    missing = await stage.work(make_task(), package="task/none")
    corrupt = await stage.work(make_task(), package=await stage.outside.objects.put_once("task", file_tar("a", b"b")))
    for work, kind in ((missing, "package_missing"), (corrupt, "package_corrupt")):
        await stage.take(work)
        errored = await stage.until(work, AttemptErrored)
        assert (errored.kind, errored.phase) == (kind, "package")


async def test_an_agent_that_takes_its_sandbox_down(stage: Any, make_task: MakeTask) -> None:
    stage.values = {"PROCTOR_COMMAND": "sleep 1000"}
    work = await stage.work(make_task(), "command")
    await stage.take(work)
    await stage.until(work, AgentStarted)
    await asyncio.sleep(0.1)
    await stage.backend.remove({"proctor.run": work.run})
    errored = await stage.until(work, AttemptErrored)
    assert (errored.kind, errored.phase) == ("agent_broke_sandbox", "agent")


# steps

STEPS = """[[steps]]
name = "one"
[[steps]]
name = "two"
[steps.healthcheck]
command = "[[ -f /app/from-two ]]"
retries = 1
"""
IN_STEPS = {
    "instruction.md": None,
    "steps/one/instruction.md": "first\n",
    "steps/two/instruction.md": "second\n",
    "steps/two/workdir/setup.sh": "[[ -f /app/done ]] && touch from-two\n",
}


async def test_each_step_waits_for_the_word(stage: Any, make_task: MakeTask) -> None:
    stage.values = {"PROCTOR_COMMAND": 'cat "$PROCTOR_INSTRUCTION_FILE"; touch done'}
    work = await stage.work(make_task(IN_STEPS, toml=STEPS), "command")
    one = await stage.take(work)
    assert (await stage.until(work, AgentFinished)).step == 0
    await asyncio.sleep(0.05)
    assert await stage.types(work) == TO_THE_GRADE
    stage.runner.ordered(LeaseOrder(held=one.held, step=1))
    stage.runner.heed(BeatAnswer(steps=(StepOrder(held=one.held, step=1),)))
    async with asyncio.timeout(10):
        while (await stage.types(work)).count("agent_finished") < 2:
            await asyncio.sleep(0.02)
    last = (await stage.events(work))[-1]
    assert (last.step, last.kind) == (1, None)
    data = await stage.outside.objects.get(last.artifacts.object)
    assert read_member(data, "logs/agent/output.txt") == b"second\n"


async def test_a_steps_setup_that_fails(stage: Any, make_task: MakeTask) -> None:
    files = {**IN_STEPS, "steps/one/workdir/setup.sh": "exit 3\n"}
    work = await stage.work(make_task(files, toml=STEPS))
    await stage.take(work)
    errored = await stage.until(work, AttemptErrored)
    assert (errored.kind, errored.phase) == ("setup_failed", "setup")
    assert "step one exited with 3" in errored.message


# subjects


async def test_events_are_in_the_runners_own_name(stage: Any, make_task: MakeTask, bus: Client) -> None:
    work = await stage.work(make_task())
    await stage.take(work)
    await stage.until(work, AgentFinished)
    info = await bus.jetstream().stream_info(
        subjects.EVENTS_STREAM, subjects_filter=subjects.run_events(work.workspace, work.run)
    )
    assert {name.split(".")[4] for name in info.state.subjects or {}} == {stage.outside.worker}
