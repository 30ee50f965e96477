"""The service over its life: bundles announced once, uploads synced, refreshed, taken up again after a crash."""

import asyncio
import contextlib
import io
import tarfile
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest
from nats.aio.client import Client

from proctor.contracts.events import ANY_EVENT, BenchmarkRemoved, Synced
from proctor.contracts.folds.benchmark import BenchmarkState, apply
from proctor.contracts.ids import SYSTEM_WORKSPACE
from proctor.eventlog import EventLog, connect
from proctor.objects import Objects
from proctor.registry_sync.app import Registry, serve
from proctor.registry_sync.syncing import sync
from proctor.service.settings import Settings
from proctor.tasks.files import TaskFiles


class Server(Protocol):
    url: str

    def start(self) -> None: ...
    def kill(self) -> None: ...


@asynccontextmanager
async def running(connection: Client, scratch: Path) -> AsyncGenerator[None]:
    """A registry that is stopped without a farewell."""
    registry = Registry(EventLog(connection, "registry-sync"), Objects(connection), scratch)
    job = asyncio.create_task(registry.run())
    try:
        yield
    finally:
        job.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await job


async def kinds(connection: Client, benchmark: str, workspace: str = SYSTEM_WORKSPACE) -> list[str]:
    log = EventLog(connection, "test").read(f"ev.{workspace}.benchmark.{benchmark}.>")
    return [record.event.type.removeprefix("benchmark.") async for record in log]


async def state_of(connection: Client, benchmark: str, workspace: str) -> BenchmarkState:
    state = BenchmarkState(workspace, benchmark)
    async for record in EventLog(connection, "test").read(f"ev.{workspace}.benchmark.{benchmark}.>"):
        apply(state, record)
    return state


async def until(connection: Client, benchmark: str, workspace: str, *ends: str, count: int = 1) -> None:
    """Wait for the `count`-th event of one of these kinds."""
    async with asyncio.timeout(20):
        async for batch in EventLog(connection, "test").follow(f"ev.{workspace}.benchmark.{benchmark}.>"):
            count -= sum(record.event.type.removeprefix("benchmark.") in ends for record in batch)
            if count <= 0:
                return


def packed(root: Path) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        archive.add(root, root.name)
    return buffer.getvalue()


async def say(connection: Client, kind: str, benchmark: str = "mine", /, **content: Any) -> None:
    event = ANY_EVENT.validate_python({"type": f"benchmark.{kind}", **content})
    await EventLog(connection, "gateway").append(event, workspace="w", aggregate="benchmark", id=benchmark)


async def add(connection: Client, root: Path, benchmark: str = "mine") -> None:
    name = await Objects(connection).put_once("upload", packed(root))
    source = {"kind": "upload", "object": name, "origin": "mine"}
    await say(
        connection, "added", benchmark, benchmark=benchmark, key=benchmark, name="Mine", source=source, added_by="owner"
    )


async def test_the_bundle_is_announced_and_synced_once(own: Client, scratch: Path) -> None:
    for _ in range(2):
        async with running(own, scratch):
            await until(own, "first-steps", SYSTEM_WORKSPACE, "synced")
            await asyncio.sleep(0.2)
    assert await kinds(own, "first-steps") == ["added", "sync_started", "page_synced", "synced"]


async def test_a_bundle_that_changed_with_an_upgrade_is_synced_again(own: Client, scratch: Path) -> None:
    async with running(own, scratch):
        await until(own, "first-steps", SYSTEM_WORKSPACE, "synced")
    log = EventLog(own, "registry-sync")
    state = await state_of(own, "first-steps", SYSTEM_WORKSPACE)
    assert state.version is not None
    older = state.version.model_copy(update={"version": "sha256:older"})
    await log.append(older, workspace=SYSTEM_WORKSPACE, aggregate="benchmark", id="first-steps")
    async with running(own, scratch):
        await until(own, "first-steps", SYSTEM_WORKSPACE, "synced", count=3)
    after = await state_of(own, "first-steps", SYSTEM_WORKSPACE)
    assert after.version is not None
    assert (after.version.version, after.status) == (state.version.version, "ready")


async def test_an_upload_is_synced_and_a_refresh_brings_its_new_version(
    own: Client, scratch: Path, make_dataset: Callable[..., Path]
) -> None:
    async with running(own, scratch):
        await add(own, make_dataset("a"))
        await until(own, "mine", "w", "synced")
        first = (await state_of(own, "mine", "w")).version
        changed = packed(make_dataset("a", "b", folder="changed"))
        source = {"kind": "upload", "object": await Objects(own).put_once("upload", changed), "origin": "mine"}
        await say(own, "sync_requested", sync="s2", source=source, requested_by="owner")
        await until(own, "mine", "w", "synced", count=2)
        await say(own, "sync_requested", sync="s3", source=source, requested_by="owner")
        await until(own, "mine", "w", "synced", count=3)
    state = await state_of(own, "mine", "w")
    assert first is not None
    assert state.version is not None
    assert (first.tasks, state.version.tasks, state.version.sync) == (1, 2, "s3")
    events = [
        record.event
        async for record in EventLog(own, "test").read("ev.w.benchmark.mine.>")
        if isinstance(record.event, Synced)
    ]
    assert events[1].version == events[2].version != events[0].version, "a version is stable across syncs"


async def test_a_failed_refresh_leaves_the_good_version(
    own: Client, scratch: Path, make_dataset: Callable[..., Path]
) -> None:
    async with running(own, scratch):
        await add(own, make_dataset("a"))
        await until(own, "mine", "w", "synced")
        source = {"kind": "upload", "object": "upload/none", "origin": "mine"}
        await say(own, "sync_requested", sync="s2", source=source, requested_by="owner")
        await until(own, "mine", "w", "sync_failed")
        await asyncio.sleep(1.2)
    state = await state_of(own, "mine", "w")
    assert (state.status, state.version and state.version.tasks) == ("failed", 1)
    assert (await kinds(own, "mine", "w")).count("sync_failed") == 1, "it is not tried for ever"


async def test_a_sync_that_died_is_taken_up_again(
    own: Client, scratch: Path, make_dataset: Callable[..., Path]
) -> None:
    """A page was told of, and then the process was gone."""
    await add(own, make_dataset(*(f"t{number:03}" for number in range(60))))
    state = await state_of(own, "mine", "w")
    log, events = EventLog(own, "registry-sync"), sync(state, Objects(own), scratch)
    async with aclosing(events):
        for _ in range(2):
            await log.append(await anext(events), workspace="w", aggregate="benchmark", id="mine")
    assert await kinds(own, "mine", "w") == ["added", "sync_started", "page_synced"]
    async with running(own, scratch):
        await until(own, "mine", "w", "synced")
    state = await state_of(own, "mine", "w")
    assert (state.status, state.synced, state.total) == ("ready", 60, 60)
    assert (await kinds(own, "mine", "w")).count("synced") == 1


async def test_two_at_once_end_with_one_version(
    own: Client, scratch: Path, nats_server: Server, make_dataset: Callable[..., Path]
) -> None:
    other = await connect(nats_server.url, "second")
    await add(own, make_dataset(*(f"t{number:03}" for number in range(60))))
    async with running(own, scratch), running(other, scratch.with_name("other")):
        await until(own, "mine", "w", "synced")
        await until(own, "first-steps", SYSTEM_WORKSPACE, "synced")
        await asyncio.sleep(1.5)
    assert (await kinds(own, "mine", "w")).count("synced") == 1
    assert (await kinds(own, "first-steps")).count("added") == 1
    assert (await state_of(own, "mine", "w")).status == "ready"
    await other.close()


async def test_a_fault_of_our_own_ends_the_sync_and_harms_no_other(
    own: Client, scratch: Path, make_dataset: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(path: Path, _found: TaskFiles) -> bytes:
        if path.name == "a":
            raise RuntimeError("a bug")
        return b"packed"

    monkeypatch.setattr("proctor.registry_sync.syncing.pack_task", broken)
    async with running(own, scratch):
        await add(own, make_dataset("a"), "bad")
        await add(own, make_dataset("b", folder="good"), "good")
        await until(own, "bad", "w", "sync_failed")
        await until(own, "good", "w", "synced")
        await asyncio.sleep(1.2)
    found = await kinds(own, "bad", "w")
    assert found == ["added", "sync_started", "sync_failed"]
    assert "Proctor failed" in str((await state_of(own, "bad", "w")).error)


async def test_a_removed_benchmark_is_left_alone(own: Client, scratch: Path, make_dataset: Callable[..., Path]) -> None:
    await add(own, make_dataset("a"))
    removed = BenchmarkRemoved(removed_by="owner")
    await EventLog(own, "gateway").append(removed, workspace="w", aggregate="benchmark", id="mine")
    async with running(own, scratch):
        await until(own, "first-steps", SYSTEM_WORKSPACE, "synced")
        await asyncio.sleep(0.2)
    assert await kinds(own, "mine", "w") == ["added", "removed"]


async def test_the_bus_may_die_in_the_middle(
    own: Client, scratch: Path, nats_server: Server, make_dataset: Callable[..., Path]
) -> None:
    await add(own, make_dataset(*(f"t{number:03}" for number in range(60))))
    async with running(own, scratch):
        await until(own, "mine", "w", "page_synced")
        nats_server.kill()
        await asyncio.sleep(0.3)
        nats_server.start()
        await until(own, "mine", "w", "synced", "sync_failed")
    assert (await state_of(own, "mine", "w")).status == "ready"


async def test_the_service_starts_and_stops(
    own: Client, nats_server: Server, tmp_path: Path, make_dataset: Callable[..., Path]
) -> None:
    stop = asyncio.Event()
    left = tmp_path / "home" / "sync" / "killed" / "dataset"
    left.mkdir(parents=True)
    settings = Settings(home=tmp_path / "home", nats_url=nats_server.url, ready_file=tmp_path / "ready")
    service = asyncio.create_task(serve(settings, stop))
    await until(own, "first-steps", SYSTEM_WORKSPACE, "synced")
    async with asyncio.timeout(5):
        while not (tmp_path / "ready").exists():
            await asyncio.sleep(0.05)
    assert not left.exists(), "what one that was killed left behind"
    await add(own, make_dataset("a"))
    await until(own, "mine", "w", "synced")
    async with asyncio.timeout(5):
        while list((tmp_path / "home" / "sync").iterdir()):
            await asyncio.sleep(0.05)
    stop.set()
    await asyncio.wait_for(service, 10)
