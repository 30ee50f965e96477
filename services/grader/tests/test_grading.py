"""A grading from its claim to its verdict, over a real bus, with a runner that answers as the real one does."""

import asyncio
import io
import tarfile
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from proctor.contracts import subjects
from proctor.contracts.events import Event, GradeDispatched
from proctor.contracts.messages import (
    BeatAnswer,
    Execute,
    Held,
    LeaseOrder,
    SandboxAnswer,
    SandboxCall,
    VaultAnswer,
)
from proctor.contracts.work import GradeWork, TaskRef
from proctor.eventlog import EventLog
from proctor.grader.failure import GradingError
from proctor.grader.grader import Grader
from proctor.grader.sandbox import RemoteSandbox
from proctor.grader.verify import verify
from proctor.objects import Objects
from proctor.service.vault import NO_VALUES, Values
from proctor.tasks import pack_task

DONE = SandboxAnswer(status="done", returncode=0, seconds=0.5)
HOME = SandboxAnswer(status="done", files={"reward.txt": b"1"}, object="artifact/1", size=10, count=2, seconds=0.1)


class Runner:
    """Holds a sandbox. `answers` has a list per kind of operation, its last repeated; `calls` what was asked."""

    def __init__(self, **answers: Sequence[SandboxAnswer]) -> None:
        usual: dict[str, Sequence[SandboxAnswer]] = {"put": [DONE], "exec": [DONE], "collect": [HOME], "spawn": [DONE]}
        self.answers = {**usual, **answers}
        self.calls: list[tuple[str, Any]] = []
        self.pause = 0.0

    async def respond(self, message: Msg) -> None:
        _, identifier, _ = message.subject.split(".")
        request = SandboxCall.model_validate_json(message.data).request
        asked = sum(one.op == request.op for _, one in self.calls)
        self.calls.append((identifier, request))
        await asyncio.sleep(self.pause)
        answers = self.answers[request.op]
        await message.respond(answers[min(asked, len(answers) - 1)].model_dump_json().encode())

    @property
    def said(self) -> list[str]:
        return [request.op for _, request in self.calls]


@asynccontextmanager
async def holding(bus: Client, identifier: str, runner: Runner) -> AsyncGenerator[Runner]:
    subscription = await bus.subscribe(subjects.sandbox(identifier, "*"), cb=runner.respond)
    yield runner
    await subscription.unsubscribe()


EXEC = Execute(id="0-0-1.1.0.run", command="true")


async def test_an_operation_under_way_is_asked_for_again_by_the_same_id(bus: Client, workspace: str) -> None:
    running = SandboxAnswer(status="running")
    async with holding(bus, workspace, Runner(exec=[running, running, DONE])) as runner:
        assert await RemoteSandbox(bus, workspace).call(EXEC) == DONE
    assert [request for _, request in runner.calls] == [EXEC] * 3


async def test_a_runner_that_restarts_is_waited_for(bus: Client, workspace: str) -> None:
    calling = asyncio.create_task(RemoteSandbox(bus, workspace).call(EXEC))
    await asyncio.sleep(0.7)
    assert not calling.done()
    async with holding(bus, workspace, Runner()):
        assert await asyncio.wait_for(calling, 5) == DONE


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        (SandboxAnswer(status="gone"), "sandbox_gone", "the sandbox was removed before it was graded"),
        (SandboxAnswer(status="error", kind="disk_full", message="no space"), "disk_full", "no space"),
        (SandboxAnswer(status="error"), "platform_error", "the sandbox failed"),
    ],
)
async def test_what_a_runner_refuses_is_typed(
    bus: Client, workspace: str, answer: SandboxAnswer, kind: str, message: str
) -> None:
    async with holding(bus, workspace, Runner(exec=[answer])):
        with pytest.raises(GradingError) as caught:
            await RemoteSandbox(bus, workspace).call(EXEC)
    assert (caught.value.kind, caught.value.message) == (kind, message)


async def test_the_tests_appear_then_run_then_what_they_wrote_comes_home(
    bus: Client, make_task: Callable[..., Any], make_work: Callable[..., GradeWork]
) -> None:
    task = make_task({"task.toml": '[verifier]\ntimeout_sec = 30\nuser = "checker"\nenv = { KEY = "${JUDGE}" }\n'})
    work = make_work(task)
    async with holding(bus, work.sandbox, Runner()) as runner:
        verified = await verify(bus, Objects(bus), work, task, Values({}, {"JUDGE": "v"}))
    put, run, collect = (request for _, request in runner.calls)
    assert (put.op, put.folders, put.target, put.clean) == ("put", ("tests",), "/tests", ("/tests", "/logs/verifier"))
    assert (run.op, run.env, run.user, run.timeout) == ("exec", {"KEY": "v"}, "checker", 60)
    assert (collect.op, collect.path) == ("collect", "/logs/verifier")
    assert [request.id.split(".")[:2] for request in (put, run, collect)] == [["0-0-1", "1"]] * 3
    assert len({request.id for request in (put, run, collect)}) == 3
    assert verified.files == {"reward.txt": b"1"}
    assert (verified.seconds.transfer, verified.seconds.run, verified.seconds.parse) == (0.5, 0.5, 0.1)
    assert verified.artifacts is not None
    assert (verified.artifacts.object, verified.artifacts.files, verified.timed_out) == ("artifact/1", 2, None)


async def test_hooks_run_in_the_agents_sandbox_and_may_fail(
    bus: Client, make_task: Callable[..., Any], make_work: Callable[..., GradeWork]
) -> None:
    hooks = '[[verifier.collect]]\ncommand = "dump a"\n[[verifier.collect]]\ncommand = "dump b"\n'
    separate = {"task.toml": f'[verifier]\nenvironment_mode = "separate"\n{hooks}'}
    task = make_task(separate)
    work = make_work(task)
    spawned = SandboxAnswer(status="done", sandbox=f"{work.sandbox}-v")
    failing = SandboxAnswer(status="done", returncode=3)
    runner = Runner(spawn=[spawned], exec=[failing])
    async with holding(bus, work.sandbox, runner), holding(bus, f"{work.sandbox}-v", runner):
        await verify(bus, Objects(bus), work, task, NO_VALUES)
    where = [(identifier.removeprefix(work.sandbox), request.op) for identifier, request in runner.calls]
    assert where == [("", "exec"), ("", "exec"), ("", "spawn"), ("-v", "put"), ("-v", "exec"), ("-v", "collect")]
    assert [request.command for _, request in runner.calls[:2]] == ["dump a", "dump b"]


async def test_rewards_too_large_for_a_message_come_from_the_stored_object(
    bus: Client, make_task: Callable[..., Any], make_work: Callable[..., GradeWork]
) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        info = tarfile.TarInfo("logs/verifier/reward.json")
        info.size = 14
        archive.addfile(info, io.BytesIO(b'{"reward": 0.5'[:13] + b"}"))
    task = make_task()
    work = make_work(task)
    name = await Objects(bus).put(f"artifact/{work.run}/big.tar", buffer.getvalue())
    home = SandboxAnswer(status="done", object=name, size=10_240, count=1)
    async with holding(bus, work.sandbox, Runner(collect=[home])):
        verified = await verify(bus, Objects(bus), work, task, NO_VALUES)
    assert verified.files == {"reward.json": b'{"reward": 0.}'}


async def stored(bus: Client, task: Any, work: GradeWork) -> None:
    await Objects(bus).put(work.task.package, pack_task(task.path))


async def begin(grader: Grader, work: GradeWork) -> int:
    event = GradeDispatched(attempt=work.attempt, epoch=work.epoch, pool="default", round=work.round, work=work)
    sequence = await grader.claim(event)
    grader.start(work, sequence)
    return sequence


async def written(bus: Client, work: GradeWork) -> list[Event]:
    return [record.event async for record in EventLog(bus, "test").read(subjects.run_events(work.workspace, work.run))]


async def settled(bus: Client, grader: Grader, work: GradeWork) -> list[Event]:
    async with asyncio.timeout(15):
        while grader.beat("0", "default").held:
            await asyncio.sleep(0.02)
    return await written(bus, work)


async def test_a_grading_is_claimed_leased_and_graded(
    bus: Client,
    grader: Grader,
    scheduler: Any,
    make_task: Callable[..., Any],
    make_work: Callable[..., GradeWork],
) -> None:
    task = make_task()
    work = make_work(task)
    await stored(bus, task, work)
    async with holding(bus, work.sandbox, Runner()):
        sequence = await begin(grader, work)
        assert grader.beat("0", "default").free == 1
        claimed, graded = await settled(bus, grader, work)
    (asked,) = scheduler.asked
    assert (asked.kind, asked.round, asked.sequence, asked.worker) == ("grade", 1, sequence, grader.identity.worker)
    assert claimed.model_dump(include={"type", "round"}) == {"type": "grade.claimed", "round": 1}
    assert graded.model_dump(include={"type", "score", "passed"}) == {
        "type": "attempt.graded",
        "score": "1.0",
        "passed": True,
    }
    assert grader.beat("0", "default").free == 2


@pytest.mark.parametrize(
    ("answers", "kind"),
    [
        ({"exec": [SandboxAnswer(status="done", timed_out=True)]}, "verifier_timeout"),
        ({"collect": [SandboxAnswer(status="done")]}, "reward_missing"),
        ({"put": [SandboxAnswer(status="gone")]}, "sandbox_gone"),
        ({"exec": [SandboxAnswer(status="error", kind="disk_full", message="m")]}, "disk_full"),
    ],
)
async def test_a_grading_without_a_reward_says_why(
    bus: Client,
    grader: Grader,
    make_task: Callable[..., Any],
    make_work: Callable[..., GradeWork],
    answers: dict[str, Any],
    kind: str,
) -> None:
    task = make_task()
    work = make_work(task)
    await stored(bus, task, work)
    async with holding(bus, work.sandbox, Runner(**answers)):
        await begin(grader, work)
        _, ended = await settled(bus, grader, work)
    assert ended.model_dump(include={"type", "kind", "round"}) == {
        "type": "attempt.grading_failed",
        "kind": kind,
        "round": 1,
    }


@pytest.mark.parametrize(("data", "kind"), [(None, "package_missing"), (b"no archive", "package_corrupt")])
async def test_a_package_that_cannot_be_had_is_the_platforms_failure(
    bus: Client, grader: Grader, make_work: Callable[..., GradeWork], data: bytes | None, kind: str
) -> None:
    work = make_work().model_copy(update={"task": TaskRef(name="hello", digest="sha256:1", package=make_work().run)})
    if data is not None:
        await Objects(bus).put(work.task.package, data)
    await begin(grader, work)
    _, ended = await settled(bus, grader, work)
    assert ended.model_dump()["kind"] == kind


async def test_a_judged_task_reads_key_and_model_by_the_benchmarks_names(
    bus: Client, make_task: Callable[..., Any], make_work: Callable[..., GradeWork]
) -> None:
    task = make_task({"task.toml": '[verifier]\nenv = { OPENAI_API_KEY = "${JUDGE_API_KEY}" }\n'})
    judge = {"key_variable": "JUDGE_API_KEY", "key_secret": "MINE", "model_variable": "JUDGE", "model": "large"}
    work = make_work(task, judge=judge)
    async with holding(bus, work.sandbox, Runner()) as runner:
        await verify(bus, Objects(bus), work, task, Values({"MINE": "k"}, {}))
    told = next(request.env for _, request in runner.calls if request.op == "exec")
    assert told == {"MINE": "k", "JUDGE_API_KEY": "k", "JUDGE": "large", "OPENAI_API_KEY": "k"}


async def test_a_judges_key_that_is_gone_is_a_typed_error(
    bus: Client, make_task: Callable[..., Any], make_work: Callable[..., GradeWork]
) -> None:
    work = make_work(task := make_task(), judge={"key_variable": "JUDGE_API_KEY", "key_secret": "MINE"})
    with pytest.raises(GradingError) as caught:
        await verify(bus, Objects(bus), work, task, NO_VALUES)
    assert caught.value.kind == "secret_missing"


@pytest.mark.parametrize(
    "answer", [{"values": {"SET": "s"}, "variables": {"JUDGE": "v"}}, {"error": "secret JUDGE isn't set"}]
)
async def test_values_come_from_the_vault(
    bus: Client,
    grader: Grader,
    make_task: Callable[..., Any],
    make_work: Callable[..., GradeWork],
    answer: dict[str, Any],
) -> None:
    async def vault(message: Msg) -> None:
        await message.respond(VaultAnswer.model_validate(answer).model_dump_json().encode())

    task = make_task({"task.toml": '[verifier]\nenv = { KEY = "${JUDGE}" }\n'})
    work = make_work(task, literals=("JUDGE",))
    await stored(bus, task, work)
    subscription = await bus.subscribe(subjects.vault_resolve(grader.identity.worker), cb=vault)
    async with holding(bus, work.sandbox, Runner()) as runner:
        await begin(grader, work)
        _, ended = await settled(bus, grader, work)
    await subscription.unsubscribe()
    if "values" in answer:
        assert ended.type == "attempt.graded"
        assert runner.calls[1][1].env == {"SET": "s", "KEY": "v"}
    else:
        assert ended.model_dump(include={"kind", "message"}) == {
            "kind": "secret_missing",
            "message": "secret JUDGE isn't set",
        }


async def test_a_grading_that_is_not_ours_touches_nothing(
    bus: Client, grader: Grader, scheduler: Any, make_work: Callable[..., GradeWork]
) -> None:
    scheduler.granted = False
    work = make_work()
    async with holding(bus, work.sandbox, Runner()) as runner:
        await begin(grader, work)
        assert [event.type for event in await settled(bus, grader, work)] == ["grade.claimed"]
    assert runner.calls == []


@pytest.mark.parametrize("by", ["beat", "order"])
async def test_a_grading_that_is_over_ends_without_a_word(
    bus: Client, grader: Grader, make_task: Callable[..., Any], make_work: Callable[..., GradeWork], by: str
) -> None:
    task = make_task()
    work = make_work(task)
    await stored(bus, task, work)
    async with holding(bus, work.sandbox, Runner(exec=[SandboxAnswer(status="running")])) as runner:
        runner.pause = 0.02
        await begin(grader, work)
        while "exec" not in runner.said:
            await asyncio.sleep(0.02)
        held = Held(workspace=work.workspace, run=work.run, attempt=work.attempt, epoch=work.epoch)
        other = held.model_copy(update={"epoch": 2})
        grader.heed(BeatAnswer(over=(other,)))
        grader.ordered(LeaseOrder(held=held, step=1))
        await asyncio.sleep(0.1)
        assert grader.beat("0", "default").held == (held,), "neither was about it"
        if by == "beat":
            grader.heed(BeatAnswer(over=(held,)))
        else:
            grader.ordered(LeaseOrder(held=held))
        assert [event.type for event in await settled(bus, grader, work)] == ["grade.claimed"]


async def test_an_item_that_comes_again_is_one_grading(
    bus: Client, grader: Grader, make_task: Callable[..., Any], make_work: Callable[..., GradeWork]
) -> None:
    """The ack was lost, so the bus hands out the same item once more."""
    task = make_task()
    work = make_work(task)
    await stored(bus, task, work)
    async with holding(bus, work.sandbox, Runner()) as runner:
        runner.pause = 0.05
        first, second = await begin(grader, work), await begin(grader, work)
        assert first == second
        assert len(grader.beat("0", "default").held) == 1
        events = await settled(bus, grader, work)
    assert [event.type for event in events] == ["grade.claimed", "attempt.graded"]
    assert runner.said == ["put", "exec", "collect"]


async def test_the_next_round_does_not_wait_for_the_last(
    bus: Client, grader: Grader, make_task: Callable[..., Any], make_work: Callable[..., GradeWork]
) -> None:
    """A round that was given up may still be ending when the next one comes to the same grader."""
    task = make_task()
    work = make_work(task)
    await stored(bus, task, work)
    async with holding(bus, work.sandbox, Runner()) as runner:
        runner.pause = 0.05
        await begin(grader, work)
        await begin(grader, work.model_copy(update={"round": 2}))
        events = await settled(bus, grader, work)
    graded = [event.model_dump()["round"] for event in events if event.type == "attempt.graded"]
    assert sorted(graded) == [1, 2]
    assert grader.beat("0", "default").free == 2


async def test_a_grader_takes_no_more_than_its_places(
    bus: Client, grader: Grader, make_task: Callable[..., Any], make_work: Callable[..., GradeWork]
) -> None:
    task = make_task()
    works = [make_work(task, attempt=f"0-{number}-1") for number in range(2)]
    await stored(bus, task, works[0])
    async with holding(bus, works[0].sandbox, Runner()) as runner:
        runner.pause = 0.1
        await asyncio.wait_for(grader.place(), 1)
        for work in works:
            await begin(grader, work)
        waiting = asyncio.create_task(grader.place())
        await asyncio.sleep(0.1)
        assert not waiting.done()
        await asyncio.wait_for(waiting, 10)


async def test_a_grader_that_stops_gives_up_what_it_has(
    bus: Client, grader: Grader, make_task: Callable[..., Any], make_work: Callable[..., GradeWork]
) -> None:
    task = make_task()
    work = make_work(task)
    await stored(bus, task, work)
    async with holding(bus, work.sandbox, Runner(exec=[SandboxAnswer(status="running")])) as runner:
        runner.pause = 0.02
        await begin(grader, work)
        while "exec" not in runner.said:
            await asyncio.sleep(0.02)
        await grader.stop()
    beat = grader.beat("0", "default")
    assert (beat.held, beat.draining) == ((), True)
    assert [event.type for event in await written(bus, work)] == ["grade.claimed"]
