"""From a submit to its answer, which waits for the read models, by the number of the benchmark's tasks."""

import asyncio
import time
from typing import Any, Final

from gateway_rows import CATEGORIES, MODELS, manifest_tasks
from gateway_stage import WORKSPACE, Stage, stage, times
from report import Row, row

from proctor.contracts.events import BenchmarkAdded, Synced, SyncStarted
from proctor.contracts.events.benchmark import BundledSource
from proctor.contracts.manifest import Manifest
from proctor.eventlog import EventLog
from proctor.objects import Objects

COUNT = 60
TASKS: Final = (5, 50, 500)
ATTEMPTS: Final = 5
CALLERS, EACH = 8, 10
SECRET: Final = "MODEL_API_KEY"


async def measure() -> list[Row]:
    rows = list[Row]()
    async with stage("leaderboard", "scheduler") as on:
        secret = {"value": "none", "scope": "workspace"}
        await on.send("PUT", f"/api/v1/secrets/{SECRET}", secret)
        for tasks in TASKS:
            body = _body(await _benchmark(on, tasks))
            size = f"{tasks} tasks x {len(MODELS)} agents x {ATTEMPTS} attempts"
            began = time.perf_counter()
            await _settled(on, await _submit(on, body))
            first = (time.perf_counter() - began) * 1000
            rows.append(row(f"submit, {size}", "ms", await _one_by_one(on, body), first=round(first, 1)))
            rows.append(row(f"submit, {CALLERS} at once, {size}", "ms", await _at_once(on, body)))
    return rows


async def _one_by_one(on: Stage, body: dict[str, Any]) -> list[float]:
    """Each on a platform that has planned the one before."""
    taken = list[float]()
    for _ in range(COUNT):
        began = time.perf_counter()
        run = await _submit(on, body)
        taken.append((time.perf_counter() - began) * 1000)
        await _settled(on, run)
    return taken


async def _at_once(on: Stage, body: dict[str, Any]) -> list[float]:
    callers = [times(lambda: _submit(on, body), EACH, warm_up=0) for _ in range(CALLERS)]
    taken = [each for of_one in await asyncio.gather(*callers) for each in of_one]
    await _settled(on, await _submit(on, body))
    return taken


async def _submit(on: Stage, body: dict[str, Any]) -> str:
    return (await on.send("POST", "/api/v1/runs", body)).json()["id"]


async def _settled(on: Stage, run: str) -> None:
    while (await on.get(f"/api/v1/runs/{run}")).json()["status"] == "pending":
        await asyncio.sleep(0.02)


def _body(benchmark: str) -> dict[str, Any]:
    agents = [{"name": name, "harness": "command", "env": {"PROCTOR_COMMAND": "./solve"}} for name in MODELS]
    return {
        "experiment_config": {"benchmark": benchmark},
        "agents": agents,
        "execution_config": {"attempts_per_task": ATTEMPTS},
        "secrets": {"required": [SECRET]},
    }


async def _benchmark(on: Stage, tasks: int) -> str:
    """The key of one that is ready, as registry-sync would leave it in the log."""
    key = f"bench-{tasks}"
    manifest = Manifest(version=f"sha256:{tasks}", tasks=manifest_tasks(tasks))
    synced = Synced(
        sync="first",
        version=manifest.version,
        manifest=await Objects(on.bus).put_once("manifest", manifest.model_dump_json().encode()),
        tasks=tasks,
        unavailable=0,
        categories=len(CATEGORIES),
    )
    added = BenchmarkAdded(benchmark=key, key=key, name=key, source=BundledSource(name=key), added_by="owner")
    for writer, event in (
        ("gateway", added),
        ("registry-sync", SyncStarted(sync="first", total=tasks)),
        ("registry-sync", synced),
    ):
        await EventLog(on.bus, writer).append(event, workspace=WORKSPACE, aggregate="benchmark", id=key)
    while (await on.client.get(f"/api/v1/benchmarks/{key}")).json().get("status") != "ready":
        await asyncio.sleep(0.05)
    return key
