"""Downloads: the table of results, lists of artifacts, and the bytes of large and of many small files."""

import asyncio
import io
import os
import tarfile
import time
from collections.abc import Awaitable, Callable, Mapping
from itertools import batched
from typing import Final

from gateway_rows import Shape, add_runs, manifest_tasks, run_config, settle
from gateway_stage import Stage, stage
from report import Row, row

from proctor.contracts.ids import Cell
from proctor.contracts.manifest import RunLock
from proctor.objects import Objects, artifact_name

TABLES: Final = (Shape(8, 25, 5), Shape(8, 250, 5), Shape(8, 500, 25))
LEFT: Final = (Shape(1, 5, 5), Shape(1, 50, 5), Shape(1, 500, 5))
"""Runs whose results left four files each."""
FILES: Final[Mapping[str, Mapping[str, int]]] = {
    "agent": {"trajectory.json": 6_000, "logs/agent.txt": 3_000, "recording.cast": 9_000},
    "verifier": {"reward.txt": 1},
}
MEGABYTES: Final = (1, 8, 64)
AGAIN: Final = 5
AT_ONCE: Final = 16
DOWNLOADERS, SMALL = 8, 100
_KNOWN: Final = "INSERT INTO gateway.artifact_files (object, files) VALUES ($1, $2::text::jsonb)"


async def measure() -> list[Row]:
    async with stage() as on:
        return [*await _tables(on), *await _artifacts(on), *await _large(on)]


async def _tables(on: Stage) -> list[Row]:
    rows = list[Row]()
    for number, shape in enumerate(TABLES):
        (run,) = await add_runs(on.database, number, 1, shape, history=True, lock=await _lock(on, shape))
        await settle(on.database)
        path, size = f"/api/v1/runs/{run}/outputs/results.csv", f"{shape.results:,} results"

        async def made(path: str = path, run: str = run) -> float:
            await on.database.execute("DELETE FROM gateway.snapshots WHERE run = $1", run)
            return await _seconds(lambda: on.get(path))

        rows.append(row(f"results.csv, made and sent, {size}", "s", [await made() for _ in range(AGAIN)]))
        megabytes = len((await on.get(path)).content) / 1e6
        again = [megabytes / await _seconds(lambda path=path: on.get(path)) for _ in range(AGAIN)]
        rows.append(row(f"results.csv, sent again, {size}", "MB/s", again, megabytes=round(megabytes, 2)))
    return rows


async def _artifacts(on: Stage) -> list[Row]:
    rows = list[Row]()
    for number, shape in enumerate(LEFT, len(TABLES)):
        (run,) = await add_runs(on.database, number, 1, shape, history=True)
        await _leave(on, run, shape)
        await settle(on.database)
        path = f"/api/v1/runs/{run}/outputs?types=artifacts"
        size = f"{shape.results * sum(map(len, FILES.values())):,} artifacts"
        rows.append(
            row(f"list of files, unread, {size}", "ms", [await _seconds(lambda path=path: on.get(path)) * 1000])
        )
        rows.append(row(f"list of files, {size}", "ms", await on.times(path, 4 * AGAIN)))
        urls = [file["url"] for file in (await on.get(path)).json()["items"]][:: shape.results * 4 // SMALL or 1]
        seconds = await _seconds(lambda urls=urls: _fetch_all(on, urls))
        rows.append(Row(f"small files, {DOWNLOADERS} at once, of {size}", "1/s", len(urls), len(urls) / seconds))
    return rows


async def _large(on: Stage) -> list[Row]:
    rows = list[Row]()
    for number, megabytes in enumerate(MEGABYTES, len(TABLES) + len(LEFT)):
        (run,) = await add_runs(on.database, number, 1, Shape(1, AGAIN, 1), history=True)
        for task in range(AGAIN):
            name = artifact_name(run, str(Cell(0, task, 1)), 1, "agent")
            data = os.urandom(megabytes * 2**20)
            await Objects(on.bus).put(name, _tar({"core.bin": data}))
            # known already, so that the list doesn't read it
            await on.database.execute(_KNOWN, name, f'[["core.bin", {tarfile.BLOCKSIZE}, {len(data)}]]')
        files = (await on.get(f"/api/v1/runs/{run}/outputs?types=artifacts")).json()["items"]
        for what in ("unread", "again"):
            rates = [file["size"] / 1e6 / await _seconds(lambda file=file: on.get(file["url"])) for file in files]
            rows.append(row(f"artifact of {megabytes} MiB, {what}", "MB/s", rates))
    return rows


async def _seconds(request: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await request()
    return time.perf_counter() - began


async def _fetch_all(on: Stage, urls: list[str]) -> None:
    async def fetch(some: list[str]) -> None:
        for url in some:
            await on.get(url)

    await asyncio.gather(*(fetch(urls[start::DOWNLOADERS]) for start in range(DOWNLOADERS)))


async def _leave(on: Stage, run: str, shape: Shape) -> None:
    """What each result of the run left, as its runner and its grader store it."""
    objects = Objects(on.bus)
    tars = {phase: _tar({path: os.urandom(size) for path, size in files.items()}) for phase, files in FILES.items()}
    names = [
        (artifact_name(run, str(Cell(agent, task, number)), 1, phase), phase)
        for agent in range(shape.agents)
        for task in range(shape.tasks)
        for number in range(1, shape.attempts + 1)
        for phase in FILES
    ]
    for some in batched(names, AT_ONCE, strict=False):
        await asyncio.gather(*(objects.put(name, tars[phase]) for name, phase in some))


def _tar(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


async def _lock(on: Stage, shape: Shape) -> str:
    lock = RunLock(
        proctor_version="0",
        benchmark="bench0",
        benchmark_key="acme/bench-0",
        version="sha256:bench",
        task_set="full",
        pass_threshold="1.0",
        config=run_config(shape),
        tasks=manifest_tasks(shape.tasks),
    )
    return await Objects(on.bus).put_once("lock", lock.model_dump_json().encode())
