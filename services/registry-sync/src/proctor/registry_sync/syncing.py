"""Reads a benchmark's source into a version: tasks packed and stored page by page, then the manifest."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from pydantic_core import to_json

from proctor.contracts.events import BenchmarkEvent, PageSynced, Synced, SyncFailed, SyncStarted
from proctor.contracts.events.benchmark import BundledSource, Source, UploadSource
from proctor.contracts.folds.benchmark import BenchmarkState
from proctor.objects import ObjectMissing, Objects
from proctor.registry_sync import bundled
from proctor.registry_sync.manifest import make_manifest, package_name
from proctor.tasks import Dataset, PinnedTask, TaskInvalid, load_dataset, pack_task, unpack_dataset

PAGE: Final = 50


async def sync(state: BenchmarkState, objects: Objects, scratch: Path) -> AsyncGenerator[BenchmarkEvent]:
    """The events of one sync, in order. Whatever the source does, it ends with `synced` or `sync_failed`; raises only
    what the bus raises. What is unpacked is below `scratch` until the end."""
    assert state.source is not None  # noqa: S101 - a benchmark without a source isn't synced
    try:
        async with opened(state.source, objects, scratch) as root:
            dataset = await asyncio.to_thread(load_dataset, root)
            async for event in _store(state.sync, root, dataset, objects):
                yield event
    except TimeoutError:
        raise
    except (TaskInvalid, ObjectMissing, OSError) as error:
        yield SyncFailed(sync=state.sync, reason=_reason(error))


async def _store(sync_id: str, root: Path, dataset: Dataset, objects: Objects) -> AsyncGenerator[BenchmarkEvent]:
    total = len(dataset.tasks)
    if not total:
        yield SyncFailed(sync=sync_id, reason=_no_tasks(dataset))
        return
    yield SyncStarted(sync=sync_id, total=total)
    for page, first in enumerate(range(0, total, PAGE)):
        for pinned in dataset.tasks[first : first + PAGE]:
            await _store_task(pinned, objects)
        yield PageSynced(sync=sync_id, page=page, synced=min(total, first + PAGE), total=total)
    manifest = await asyncio.to_thread(make_manifest, dataset, bundled.task_sets(root))
    name = await objects.put_once("manifest", to_json(manifest.model_dump(mode="json")))
    yield Synced(
        sync=sync_id,
        version=manifest.version,
        manifest=name,
        tasks=len(manifest.tasks),
        unavailable=len(manifest.unavailable),
        categories=len({task.category for task in manifest.tasks if task.category}),
    )


def _no_tasks(dataset: Dataset) -> str:
    reasons = "; ".join(f"{one.name}: {one.reason}" for one in dataset.refused[:5])
    return f"none of its tasks can be used: {reasons}" if reasons else "it has no tasks"


async def _store_task(pinned: PinnedTask, objects: Objects) -> None:
    name = package_name(pinned.digest)
    if not await objects.exists(name):
        await objects.put(name, await asyncio.to_thread(pack_task, pinned.task.path, pinned.task.files))


@asynccontextmanager
async def opened(source: Source, objects: Objects, scratch: Path) -> AsyncGenerator[Path]:
    """The source as a folder, for as long as it is needed."""
    match source:
        case BundledSource():
            yield bundled.folder(source.name)
        case UploadSource():
            own = await asyncio.to_thread(_own_folder, scratch)
            try:
                data = await objects.get(source.object)
                yield await asyncio.to_thread(unpack_dataset, data, own / "dataset")
            finally:
                await asyncio.to_thread(shutil.rmtree, own, ignore_errors=True)


def _own_folder(scratch: Path) -> Path:
    scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(dir=scratch))


def _reason(error: Exception) -> str:
    if isinstance(error, ObjectMissing):
        return "the uploaded dataset is no longer in the object store: upload it again"
    return str(error)
