"""A run that people steer, and the runs that are made of it, by real services and the real command."""

import asyncio
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from proctor.contracts import subjects
from proctor.contracts.events import AttemptDispatched, ResultsReused, RunPaused, RunResumed
from proctor.eventlog import EventLog

ATTEMPTS = 8
BODY: dict[str, Any] = {
    "experiment_config": {"benchmark": "first-steps"},
    "tasks_config": {"task_names": ["proctor/deduplicate"]},
    "agents": [{"harness": "oracle"}, {"harness": "nop"}],
    "execution_config": {"attempts_per_task": ATTEMPTS, "max_concurrent_attempts": 1},
    "secrets": {"required": ["TOKEN"], "provided": {}},
}
SECRET = {"value": "there", "scope": "workspace"}
LETTERS = {"passed": "p", "failed": "f"}


@pytest.fixture
def proctor(full: httpx.AsyncClient) -> Callable[..., Any]:
    """The command, by hand of the owner: its output."""
    env = {
        **os.environ,
        "PROCTOR_URL": str(full.base_url).removesuffix("/api/v1/"),
        "PROCTOR_TOKEN": full.headers["Authorization"].removeprefix("Bearer "),
    }

    async def run(*arguments: str) -> str:
        command = [str(Path(sys.executable).with_name("proctor")), "run", *arguments]
        ended = await asyncio.to_thread(subprocess.run, command, env=env, capture_output=True, text=True, timeout=120)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    return run


async def records(platform: Any, run: str) -> list[Any]:
    return [record async for record in EventLog(platform.bus, "test").read(subjects.run_events("default", run))]


async def until(ask: Callable[[], Any], true: Callable[[Any], bool], seconds: float = 60) -> Any:
    async with asyncio.timeout(seconds):
        while not true(found := await ask()):
            await asyncio.sleep(0.05)
        return found


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_a_run_is_steered_to_its_end_and_made_again(
    full: httpx.AsyncClient, platform: Any, proctor: Callable[..., Any]
) -> None:
    async def results(run: str) -> dict[str, Any]:
        page = (await full.get(f"/runs/{run}/results", params={"limit": 200})).json()
        return {result["attempt"]: result for result in page["items"]}

    async def ended(run: str) -> Any:
        async def ask() -> Any:
            return (await full.get(f"/runs/{run}")).json()

        return await until(ask, lambda found: found["cleaned_at"] is not None)

    assert (await full.put("/secrets/TOKEN", json=SECRET)).is_success
    submitted = await full.post("/runs", json=BODY)
    assert submitted.status_code == 201, submitted.text
    run, name = submitted.json()["id"], submitted.json()["name"]
    assert (await full.post(f"/runs/{run}/pause", json={"reason": "lunch"})).status_code == 202
    assert "paused" in await proctor("pause", name)
    # what is under way ends by itself
    await asyncio.sleep(3)
    assert (await full.delete("/secrets/TOKEN?scope=workspace")).is_success
    before = len(await records(platform, run))
    await asyncio.sleep(2)
    assert len(await records(platform, run)) == before
    log = await records(platform, run)
    assert sum(isinstance(record.event, AttemptDispatched) for record in log) <= 2

    assert "resumed" in await proctor("resume", name)
    found = await until(lambda: results(run), lambda found: any(r["outcome"] == "errored" for r in found.values()))
    assert (await full.post(f"/runs/{run}/pause")).status_code == 202
    errored = next(key for key, result in sorted(found.items()) if result["outcome"] == "errored")
    assert found[errored]["kind"] == "secret_missing"
    assert (await full.put("/secrets/TOKEN", json=SECRET)).is_success
    assert "tried again" in await proctor("retry", name, found[errored]["identity"])
    assert "stop of nop requested" in await proctor("stop-agent", name, "nop", "--reason", "does nothing")
    assert (await full.post(f"/runs/{run}/resume")).status_code == 202
    first = await ended(run)
    assert first["status"] == "finished", first
    assert [agent["status"] for agent in first["agent_results"]] == ["finished", "stopped"]
    source = await results(run)
    assert (source[errored]["outcome"], source[errored]["epoch"]) == ("passed", 2)
    assert source["1-0-8"]["outcome"] == "cancelled"
    paused = False
    late = 0
    for record in await records(platform, run):
        paused = isinstance(record.event, RunPaused) or (paused and not isinstance(record.event, RunResumed))
        late += paused and isinstance(record.event, AttemptDispatched)
    # a dispatch that was decided on before the scheduler saw the pause
    assert late <= 2

    again = json.loads(await proctor("rerun", name, "--errored", "--json"))
    second = await ended(again["id"])
    assert (second["status"], second["rerun_of"]) == ("finished", run)
    assert (second["passed"], second["failed"]) == (ATTEMPTS, ATTEMPTS)
    log = [record.event for record in await records(platform, again["id"])]
    (reused,) = [event for event in log if isinstance(event, ResultsReused)]
    numbers = range(1, ATTEMPTS + 1)
    outcomes = tuple(
        "".join(LETTERS.get(source[f"{agent}-0-{number}"]["outcome"], ".") for number in numbers) for agent in (0, 1)
    )
    assert (reused.source, reused.agents, reused.tasks, reused.outcomes) == (run, (0, 1), (0,), outcomes)
    assert "p" in outcomes[0]
    assert "." in outcomes[1]
    dispatched = {event.attempt for event in log if isinstance(event, AttemptDispatched)}
    open_cells = {f"{agent}-0-{n}" for agent, text in enumerate(outcomes) for n in numbers if text[n - 1] == "."}
    assert dispatched == open_cells

    document = await proctor("config", again["name"])
    assert tomllib.loads(document) == tomllib.loads(await proctor("config", name))
    assert f"# rerun of {name} ({run})" in document
    await proctor("tag", again["name"], "complete")
    await proctor("archive", name)
    assert [one["name"] for one in json.loads(await proctor("list", "--tag", "complete", "--json"))] == [again["name"]]
    assert again["name"] in (table := await proctor("list"))
    assert name not in table.replace(again["name"], "")
    third = json.loads(await proctor("rerun", again["name"], "--agent", "0", "--wait", "--json"))
    assert (third["status"], third["passed"], third["reused"]) == ("finished", ATTEMPTS, 0)
    runs = (again["name"], third["name"])
    (pair,) = json.loads(await proctor("compare", *runs, "--json"))["pairs"]
    assert (pair["tasks"]["complete"], pair["measures"]["pass_at_1"]["difference"]) == (1, 0)
    assert "Pass@1" in await proctor("compare", *runs)
