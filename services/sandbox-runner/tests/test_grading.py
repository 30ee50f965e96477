"""A separate verifier's sandbox gets the declared artifacts, and nothing else of the agent's."""

from collections.abc import Callable
from typing import Any

from proctor.contracts.events import AgentFinished
from proctor.contracts.messages import Collect, Execute, Spawn

SEPARATE = """artifacts = ["answer.txt", "/app/out", "missing"]
[verifier]
environment_mode = "separate"
"""
LOOK = "cd /; find app logs/artifacts -type f -o -type l | sort >/logs/verifier/found; cat /app/answer.txt"
SOLVE = """#!/bin/bash
mkdir -p out/sub; echo 42 >answer.txt; echo deep >out/sub/file; echo private >other.txt
ln -s sub/file out/inside; ln -s /tests/expected out/outside; echo kept >/logs/artifacts/kept
"""


async def spawned(stage: Any, work: Any) -> str:
    await stage.until(work, AgentFinished)
    answer = await stage.call(work, Spawn(id="spawn"))
    assert answer.status == "done", answer
    return answer.sandbox


async def test_declared_artifacts_are_in_their_places(stage: Any, make_task: Callable[..., Any]) -> None:
    work = await stage.work(make_task({"solution/solve.sh": SOLVE}, toml=SEPARATE))
    await stage.take(work)
    sandbox = await spawned(stage, work)
    ran = await stage.call_sandbox(sandbox, Execute(id="look", command=LOOK, timeout=9))
    assert ran.returncode == 0
    home = await stage.call_sandbox(
        sandbox, Collect(id="c", path="/logs/verifier", object="test/found", inline=("found",))
    )
    assert home.files["found"].decode().split() == [
        "app/answer.txt",
        "app/out/inside",
        "app/out/sub/file",
        "logs/artifacts/kept",
    ]


async def test_a_repeated_spawn_is_the_same_sandbox_and_both_are_removed(
    stage: Any, make_task: Callable[..., Any]
) -> None:
    work = await stage.work(make_task(toml=SEPARATE))
    one = await stage.take(work)
    assert await spawned(stage, work) == await spawned(stage, work)
    labels = {"proctor.run": work.run}
    await stage.runner.stop()
    assert one.over
    assert await stage.backend.remove(labels) == []


async def test_artifacts_that_the_verifier_cannot_get_are_the_agents_doing(
    stage: Any, make_task: Callable[..., Any]
) -> None:
    solve = "#!/bin/bash\nmkdir out; cp /bin/false /usr/bin/tar\n"
    work = await stage.work(make_task({"solution/solve.sh": solve}, toml=SEPARATE))
    await stage.take(work)
    finished = await stage.until(work, AgentFinished)
    assert finished.artifacts.cut
    answer = await stage.call(work, Spawn(id="spawn"))
    assert (answer.status, answer.kind) == ("error", "agent_broke_sandbox")


async def test_a_sick_verifier_environment_is_an_error(stage: Any, make_task: Callable[..., Any]) -> None:
    check = '[verifier.environment.healthcheck]\ncommand = "false"\nretries = 1\n'
    work = await stage.work(make_task(toml=SEPARATE + check))
    await stage.take(work)
    await stage.until(work, AgentFinished)
    answer = await stage.call(work, Spawn(id="spawn"))
    assert (answer.status, answer.kind) == ("error", "healthcheck_failed")


async def test_a_shared_verifier_gets_no_sandbox(stage: Any, make_task: Callable[..., Any]) -> None:
    work = await stage.work(make_task())
    await stage.take(work)
    await stage.until(work, AgentFinished)
    assert (await stage.call(work, Spawn(id="spawn"))).status == "error"
