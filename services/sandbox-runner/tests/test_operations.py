"""What a grader may do with a sandbox, over the real bus."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable

import nats.errors
import pytest
from nats.aio.client import Client

from proctor.contracts import subjects
from proctor.contracts.messages import Collect, Execute, PutFolders, SandboxAnswer, SandboxCall, SandboxRequest, Spawn
from proctor.objects import Objects
from proctor.objects.tars import list_members
from proctor.sandbox_runner.operations import Operations
from proctor.sandbox_runner.sandbox.protocol import Sandbox
from proctor.tasks import Task

type Call = Callable[..., Awaitable[SandboxAnswer]]

TESTS = PutFolders(id="put", folders=("tests",), target="/tests", clean=("/tests", "/logs/verifier"))


@pytest.fixture
async def operations(bus: Client, box: Sandbox, a_task: Callable[..., Task]) -> AsyncIterator[Operations]:
    task = a_task({"tests/data/expected": "42\n", "steps/one/tests/test.sh": "#!/bin/bash\necho step\n"})
    operations = Operations(bus, Objects(bus), box, task, None)
    await operations.open()
    yield operations
    await operations.close()


@pytest.fixture
def call(bus: Client, box: Sandbox, operations: Operations) -> Call:
    async def ask(request: SandboxRequest, wait: float = 15) -> SandboxAnswer:
        payload = SandboxCall(request=request, wait=wait).model_dump_json().encode()
        reply = await bus.request(subjects.sandbox(box.id, request.op), payload, timeout=30)
        return SandboxAnswer.model_validate_json(reply.data)

    return ask


def collecting(*inline: str) -> Collect:
    return Collect(id=uuid.uuid4().hex, path="/logs/verifier", object=f"test/{uuid.uuid4().hex}", inline=inline)


# exec


async def test_exec_runs_once_however_often_it_is_asked_for(call: Call, box: Sandbox) -> None:
    once = Execute(id="a", command="echo >>/app/runs; exit 7", timeout=9)
    answers = [*await asyncio.gather(call(once), call(once), call(once)), await call(once)]
    assert {answer.model_dump_json() for answer in answers} == {answers[0].model_dump_json()}
    assert (answers[0].status, answers[0].returncode) == ("done", 7)
    await call(once.model_copy(update={"id": "b"}))
    assert await box.read("/app/runs", 100) == b"\n\n"


async def test_a_long_exec_answers_running_until_it_is_done(call: Call) -> None:
    long = Execute(id="a", command="sleep 0.6; exit 2", timeout=9)
    began = time.monotonic()
    first = await call(long, 0.1)
    assert (first.status, time.monotonic() - began < 0.6) == ("running", True)
    last = await call(long)
    assert (last.status, last.returncode) == ("done", 2)
    assert last.seconds >= 0.6


async def test_exec_has_its_own_environment_folder_and_limit(call: Call, box: Sandbox) -> None:
    answer = await call(Execute(id="a", command='echo "$PWD $A" >/app/said', env={"A": "it's"}, cwd="/tmp", timeout=9))
    assert (answer.returncode, await box.read("/app/said", 100)) == (0, b"/tmp it's\n")
    answer = await call(Execute(id="b", command="sleep 1000", timeout=0.2))
    assert (answer.status, answer.timed_out, answer.returncode) == ("done", True, None)


# put


async def test_put_replaces_what_the_agent_planted(call: Call, box: Sandbox) -> None:
    await box.exec(
        "mkdir /app/mine; echo evil >/app/mine/test.sh; ln -s /app/mine /tests; "
        "rm -r /logs/verifier; echo 1 >/app/mine/reward.txt; ln -s /app/mine /logs/verifier",
        timeout=9,
    )
    assert (await call(TESTS)).status == "done"
    found = await box.exec("find /tests /logs/verifier -printf '%p %y %m\\n' | sort; cat /app/mine/test.sh", timeout=9)
    assert found.stdout.decode().splitlines() == [
        "/logs/verifier d 777",
        "/tests d 777",
        "/tests/data d 755",
        "/tests/data/expected f 644",
        "/tests/test.sh f 755",
        "evil",
    ]


async def test_put_lays_a_steps_tests_over_the_tasks(call: Call, box: Sandbox) -> None:
    folders = ("tests", "steps/one/tests", "steps/none/tests")
    await call(TESTS.model_copy(update={"folders": folders}))
    assert await box.read("/tests/test.sh", 100) == b"#!/bin/bash\necho step\n"
    assert await box.read("/tests/data/expected", 100) == b"42\n"


async def test_put_never_leaves_the_package(call: Call, box: Sandbox) -> None:
    await call(TESTS.model_copy(update={"folders": ("..", "/etc", "tests/../..")}))
    found = await box.exec("ls -A /tests", timeout=9)
    assert found.stdout == b""


async def test_put_says_when_it_cannot_clean(call: Call) -> None:
    answer = await call(TESTS.model_copy(update={"clean": ("/proc/self",)}))
    assert (answer.status, answer.kind) == ("error", "transfer_failed")
    assert "/proc/self" in (answer.message or "")


# collect


async def test_collect_stores_all_and_answers_the_small(call: Call, box: Sandbox, bus: Client) -> None:
    await box.exec(
        "cd /logs/verifier; echo 0.5 >reward.txt; head -c 16385 /dev/zero >reward.json; mkdir d; echo >d/x; "
        "ln -s /etc/passwd link",
        timeout=9,
    )
    request = collecting("reward.txt", "reward.json", "absent", "link")
    answer = await call(request)
    assert (answer.status, answer.count, answer.cut) == ("done", 3, False)
    assert answer.files == {"reward.txt": b"0.5\n"}
    data = await Objects(bus).get(str(answer.object))
    assert (answer.object, answer.size) == (request.object, len(data))
    assert [tuple(member) for member in list_members(data)] == [
        ("logs/verifier/d/x", 1),
        ("logs/verifier/reward.json", 16385),
        ("logs/verifier/reward.txt", 4),
    ]


async def test_collect_keeps_the_reward_of_a_verifier_that_wrote_too_much(
    call: Call, box: Sandbox, bus: Client
) -> None:
    await box.exec("cd /logs/verifier; echo 1 >reward.txt; truncate -s 65M log", timeout=9)
    answer = await call(collecting("reward.txt", "reward.json"))
    assert (answer.status, answer.cut, answer.files) == ("done", True, {"reward.txt": b"1\n"})
    assert [tuple(member) for member in list_members(await Objects(bus).get(str(answer.object)))] == [
        ("logs/verifier/reward.txt", 2)
    ]


@pytest.mark.parametrize("before", ["true", "rm -r /logs/verifier"])
async def test_collect_of_nothing_is_no_object(call: Call, box: Sandbox, before: str) -> None:
    await box.exec(before, timeout=9)
    answer = await call(collecting("reward.txt"))
    assert (answer.status, answer.object, answer.files, answer.count) == ("done", None, {}, 0)


# the rest


async def test_what_is_no_operation_is_said_without_its_values(
    bus: Client, box: Sandbox, operations: Operations
) -> None:
    payload = b'{"request": {"op": "exec", "id": "a", "command": "x", "env": {"KEY": ["s3cret"]}}}'
    for body, named in ((payload, "env"), (b'{"request": {"op": "melt", "id": "a"}}', "op"), (b"s3cret", "JSON")):
        reply = await bus.request(subjects.sandbox(box.id, "exec"), body, timeout=5)
        answer = SandboxAnswer.model_validate_json(reply.data)
        assert (answer.status, answer.kind) == ("error", "platform_error")
        assert named in (answer.message or "")
        assert "s3cret" not in (answer.message or "")


async def test_a_verifiers_sandbox_has_no_other(call: Call) -> None:
    answer = await call(Spawn(id="a"))
    assert (answer.status, answer.kind) == ("error", "platform_error")


async def test_gone_after_close(call: Call, operations: Operations, box: Sandbox) -> None:
    waiting = asyncio.ensure_future(call(Execute(id="a", command="touch /app/begun; sleep 1000", timeout=None)))
    while await box.read("/app/begun", 1) is None:
        await asyncio.sleep(0.01)
    await operations.close()
    assert (await waiting).status == "gone"
    alive = await box.exec("pgrep -x sleep || true", timeout=5)
    assert alive.stdout == b""
    with pytest.raises(nats.errors.NoRespondersError):
        await call(Execute(id="a", command="true", timeout=5))


async def test_a_dead_sandbox_is_an_error(call: Call, box: Sandbox) -> None:
    await box.stop()
    answer = await call(Execute(id="a", command="true", timeout=5))
    assert (answer.status, answer.kind) == ("error", "sandbox_gone")
