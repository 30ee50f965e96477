"""What an agent may do to its sandbox, and what becomes of its attempt, on real sandboxes."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.contracts.events import AgentFinished
from proctor.contracts.messages import Collect, Execute, PutFolders, Spawn
from proctor.sandbox_runner.aftermath import Aftermath
from proctor.sandbox_runner.failure import Failure
from proctor.sandbox_runner.sandbox.errors import ErrorKind, SandboxError
from proctor.sandbox_runner.sandbox.protocol import Sandbox
from proctor.sandbox_runner.users import check_users

type MakeTask = Callable[..., Path]

TESTS = PutFolders(id="put", folders=("tests",), target="/tests", clean=("/tests", "/logs/verifier"))
RUN = Execute(id="run", command="/tests/test.sh > /logs/verifier/out 2>&1", timeout=9)
COLLECT = Collect(id="collect", path="/logs/verifier", object="test/aftermath", inline=("reward.txt",))
VERDICT = "#!/bin/bash\n[[ -f done ]] && echo 1 >/logs/verifier/reward.txt || echo 0 >/logs/verifier/reward.txt\n"


async def after(stage: Any, make_task: MakeTask, command: str, toml: str = "") -> Any:
    """The work of an attempt whose agent has run `command`."""
    stage.values = {"PROCTOR_COMMAND": command}
    work = await stage.work(make_task({"tests/test.sh": VERDICT}, toml=toml), "command")
    await stage.take(work)
    await stage.until(work, AgentFinished)
    return work


@pytest.mark.parametrize(
    ("command", "reward"),
    [
        ("touch done; rm -rf /logs; echo >/logs", b"1\n"),
        ("touch done; rm -rf /logs; ln -s /app /logs", b"1\n"),
        ("touch done; rm -rf /logs", b"1\n"),
        ("rm -rf /app", b"0\n"),
        ("rm -rf /app; echo >/app", b"0\n"),
        ("rm -rf /tests /logs/verifier; echo >/tests; echo >/logs/verifier", b"0\n"),
    ],
)
async def test_what_can_be_put_right_is_graded(stage: Any, make_task: MakeTask, command: str, reward: bytes) -> None:
    work = await after(stage, make_task, command)
    for request in (TESTS, RUN):
        answer = await stage.call(work, request)
        assert answer.status == "done", answer
    assert (await stage.call(work, COLLECT)).files == {"reward.txt": reward}


@pytest.mark.parametrize(
    "command",
    ["rm -rf /run/proctor/*", "rm -rf /usr/bin", "cp /bin/false /usr/bin/tar", "cp /bin/false /usr/bin/base64"],
)
async def test_what_cannot_is_the_agents_doing(stage: Any, make_task: MakeTask, command: str) -> None:
    work = await after(stage, make_task, command)
    answer = await stage.call(work, TESTS)
    assert (answer.status, answer.kind) == ("error", "agent_broke_sandbox"), answer
    assert answer.message


async def test_a_reward_that_cannot_be_read_is_the_agents_doing(stage: Any, make_task: MakeTask) -> None:
    work = await after(
        stage,
        make_task,
        "(sleep 0.2; echo 0 >/logs/verifier/reward.txt; cp /bin/false /usr/bin/tar) & exit 0",
    )
    await asyncio.sleep(0.5)
    answer = await stage.call(work, COLLECT)
    assert (answer.status, answer.kind) == ("error", "agent_broke_sandbox"), answer


async def test_a_tar_that_does_nothing_is_the_agents_doing(stage: Any, make_task: MakeTask) -> None:
    work = await after(stage, make_task, "cp /bin/true /usr/bin/tar")
    for request in (TESTS, RUN):
        await stage.call(work, request)
    answer = await stage.call(work, COLLECT)
    assert (answer.status, answer.kind) == ("error", "agent_broke_sandbox"), answer


async def test_a_verifiers_user_that_the_agent_removed_is_its_doing(stage: Any, make_task: MakeTask) -> None:
    hide = "cp /bin/false /usr/bin/id"
    work = await after(stage, make_task, hide, '[verifier]\nuser = "nobody"\n')
    answer = await stage.call(work, RUN.model_copy(update={"user": "nobody"}))
    assert (answer.status, answer.kind) == ("error", "agent_broke_sandbox"), answer


async def test_a_sandbox_that_ends_while_its_grade_is_awaited(stage: Any, make_task: MakeTask) -> None:
    work = await after(stage, make_task, "true")
    await stage.backend.remove({"proctor.run": work.run})
    answer = await stage.call(work, TESTS)
    assert (answer.status, answer.kind) == ("error", "agent_broke_sandbox")


async def test_a_tar_that_sleeps_holds_the_place_for_seconds(
    stage: Any, make_task: MakeTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proctor.sandbox_runner.attempt.COLLECT_SECONDS", 0.5)
    monkeypatch.setattr(Aftermath.__init__, "__defaults__", (2.0,))
    began = time.monotonic()
    sleeper = "printf '#!/bin/bash\\nsleep 1000\\n' >/usr/bin/tar"
    work = await after(stage, make_task, sleeper)
    answer = await stage.call(work, TESTS)
    assert (answer.status, answer.kind) == ("error", "agent_broke_sandbox"), answer
    assert "2 s" in answer.message
    assert time.monotonic() - began < 8
    alive = await stage.call(work, Execute(id="look", command="pgrep -x sleep", timeout=5))
    assert alive.returncode == 1


async def test_the_seconds_are_for_all_transfers_until_the_next_agent_phase(box: Sandbox) -> None:
    aftermath = Aftermath(box, 0.3)
    async with aftermath.transfer():
        await asyncio.sleep(0.2)
    with pytest.raises(Failure) as caught:
        async with aftermath.transfer():
            await asyncio.sleep(0.2)
    assert caught.value.kind == "agent_broke_sandbox"
    aftermath.renew()
    async with aftermath.transfer():
        await asyncio.sleep(0.2)


@pytest.mark.parametrize("kind", [ErrorKind.ENGINE_UNAVAILABLE, ErrorKind.IMAGE_MISSING, ErrorKind.START_TIMEOUT])
async def test_the_engines_failures_stay_its_own(box: Sandbox, kind: ErrorKind) -> None:
    with pytest.raises(Failure) as caught:
        async with Aftermath(box).blamed():
            raise SandboxError(kind, "away")
    assert (caught.value.kind, caught.value.message) == (kind, "away")


async def test_a_separate_verifiers_user_that_is_missing(stage: Any, make_task: MakeTask) -> None:
    toml = '[verifier]\nenvironment_mode = "separate"\nuser = "nosuch"\n'
    work = await after(stage, make_task, "true", toml)
    answer = await stage.call(work, Spawn(id="spawn"))
    assert (answer.status, answer.kind) == ("error", "user_missing")
    assert "nosuch" in answer.message


async def test_users_that_are_there_and_numbers_pass(box: Sandbox) -> None:
    await check_users(box, [(user, "[agent] user") for user in ("root", "nobody", "1234", "0:0")])
    result = await box.exec("id -u; id -g", user="1234", timeout=9)
    assert result.stdout == b"1234\n1234\n"
