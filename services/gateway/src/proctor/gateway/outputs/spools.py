"""Objects on this machine for as long as they are being read, so that a tar of many files is fetched once."""

import asyncio
import io
import mmap
import os
import tempfile
from collections import OrderedDict
from contextlib import AbstractContextManager
from typing import BinaryIO, Final, Protocol, cast

from proctor.objects import ObjectMissing, Objects
from proctor.service.errors import NotFound

KEPT_BYTES: Final = 1024**3
KEPT_FILES: Final = 64
FETCHED_AT_ONCE: Final = 16


class Spool(Protocol):
    size: int

    async def read(self, offset: int, size: int) -> bytes: ...

    def open(self) -> AbstractContextManager[BinaryIO]:
        """A reader of its own, at the start."""
        ...


class InMemory:
    def __init__(self, data: bytes) -> None:
        self._data, self.size = data, len(data)

    async def read(self, offset: int, size: int) -> bytes:
        return self._data[offset : offset + size]

    def open(self) -> AbstractContextManager[BinaryIO]:
        return io.BytesIO(self._data)


class OnDisk:
    """Its file has no name: once it is no longer kept, it goes with its last reader."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.size = file, os.fstat(file.fileno()).st_size

    async def read(self, offset: int, size: int) -> bytes:
        return await asyncio.to_thread(os.pread, self._file.fileno(), size, offset)

    def open(self) -> AbstractContextManager[BinaryIO]:
        if self.size == 0:
            return io.BytesIO()
        return cast("AbstractContextManager[BinaryIO]", mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ))


class Spools:
    def __init__(self, objects: Objects, limit: int = KEPT_BYTES) -> None:
        self._objects, self._limit = objects, limit
        self._kept: OrderedDict[str, asyncio.Task[Spool]] = OrderedDict()
        self._slots = asyncio.Semaphore(FETCHED_AT_ONCE)

    async def get(self, name: str) -> Spool:
        """Raises `NotFound`. Those who ask for the same at once wait for one fetch."""
        task = self._kept.get(name)
        if task is None:
            self._drop()
            task = self._kept[name] = asyncio.create_task(self._fetch(name))
        self._kept.move_to_end(name)
        try:
            return await asyncio.shield(task)
        except BaseException:
            if task.done() and self._kept.get(name) is task:
                del self._kept[name]
            raise

    async def _fetch(self, name: str) -> Spool:
        async with self._slots:
            data = await self._objects.get_small(name)
            return await self._whole(name) if data is None else InMemory(data)

    async def _whole(self, name: str) -> Spool:
        file = cast("BinaryIO", tempfile.TemporaryFile())  # noqa: SIM115 - it lives as long as its spool
        try:
            await self._objects.get_into(name, file)
        except ObjectMissing as error:
            raise NotFound("this file is no longer stored") from error
        await asyncio.to_thread(file.flush)
        return OnDisk(file)

    def _drop(self) -> None:
        """The longest unused, until there is room for another."""
        there = {name: task.result().size for name, task in self._kept.items() if _succeeded(task)}
        total = sum(there.values())
        for place, (name, size) in enumerate(there.items()):
            if total <= self._limit and len(there) - place < KEPT_FILES:
                return
            total -= size
            del self._kept[name]


def _succeeded(task: "asyncio.Task[Spool]") -> bool:
    return task.done() and not task.cancelled() and task.exception() is None
