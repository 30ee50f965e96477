"""Task packages, fetched once and unpacked by digest."""

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path

from proctor.contracts.ids import short_id
from proctor.contracts.work import TaskRef
from proctor.objects import ObjectMissing, Objects
from proctor.tasks import Task, TaskInvalid, load_task, unpack_task


class PackageError(Exception):
    """A package can't be had; `kind` is a row of the error policy."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind, self.message = kind, message


class Packages:
    """The folder of a package is complete or absent: it is renamed into place."""

    def __init__(self, folder: Path, objects: Objects) -> None:
        self._folder, self._objects = folder, objects
        self._loaded: dict[str, asyncio.Task[Task]] = {}

    async def load(self, reference: TaskRef) -> Task:
        """The task, ready to run. Callers at once share one download. Raises `PackageError`."""
        loading = self._loaded.get(reference.digest)
        if loading is None or (loading.done() and loading.exception() is not None):
            loading = self._loaded[reference.digest] = asyncio.create_task(self._fetch(reference))
        task = await asyncio.shield(loading)
        # a task without a name of its own is called by its folder, which here is its digest
        return replace(task, name=reference.name)

    async def _fetch(self, reference: TaskRef) -> Task:
        place = self._folder / reference.digest.removeprefix("sha256:")
        if place.is_dir():
            try:
                return await asyncio.to_thread(load_task, place)
            except TaskInvalid:
                await asyncio.to_thread(shutil.rmtree, place)
        try:
            data = await self._objects.get(reference.package)
        except ObjectMissing:
            raise PackageError(
                "package_missing", f"the package of task {reference.name} isn't in the object store"
            ) from None
        try:
            return await asyncio.to_thread(_unpack, data, place, reference.digest)
        except TaskInvalid as error:
            raise PackageError("package_corrupt", f"the package of task {reference.name}: {error}") from error


def _unpack(data: bytes, place: Path, digest: str) -> Task:
    """Others on this home may unpack the same package at the same moment: the first one's folder stays."""
    place.parent.mkdir(parents=True, exist_ok=True)
    own = place.with_name(f".{place.name}.{short_id()}")
    unpack_task(data, own, digest=digest)
    try:
        own.rename(place)
    except OSError:
        shutil.rmtree(own, ignore_errors=True)
        if not place.is_dir():
            raise
    return load_task(place)
