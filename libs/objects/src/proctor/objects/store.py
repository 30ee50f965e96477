"""Put and get. An object is stored before the event that names it."""

import asyncio
import base64
import contextlib
import hashlib
import io
import json
from collections.abc import Awaitable, Callable
from typing import BinaryIO, Final, cast

import nats.errors
from nats.aio.client import Client
from nats.js.api import ObjectInfo, ObjectMeta, ObjectMetaOptions
from nats.js.errors import APIError, NoStreamResponseError, NotFoundError, ObjectNotFoundError
from nats.js.object_store import ObjectStore

from proctor.contracts import subjects

ANSWER_SECONDS: Final = 10.0
TRANSFER_SECONDS: Final = 120.0
CHUNK_BYTES: Final = 128 * 1024


class ObjectMissing(Exception):
    """No object of that name; the message is the name."""


def digest_name(kind: str, data: bytes) -> str:
    """`<kind>/<sha256>`: equal content is one object."""
    return f"{kind}/{hashlib.sha256(data).hexdigest()}"


def artifact_name(run: str, attempt: str, epoch: int, phase: str) -> str:
    return f"artifact/{run}/{attempt}.{epoch}.{phase}.tar"


def _encoded(data: str | bytes) -> str:
    return base64.urlsafe_b64encode(data.encode() if isinstance(data, str) else data).decode()


class Objects:
    """Retries for `patience` seconds while the bus is away."""

    def __init__(self, connection: Client, *, patience: float = 60) -> None:
        self._connection, self._patience = connection, patience
        self._bucket: ObjectStore | None = None

    async def put(self, name: str, data: bytes) -> str:
        """The name again. An existing object of that name is replaced."""
        return await self.put_file(name, io.BytesIO(data))

    async def put_file(self, name: str, file: BinaryIO) -> str:
        """The same from an open file, without holding it in memory."""
        meta = ObjectMeta(name=name, options=ObjectMetaOptions(max_chunk_size=CHUNK_BYTES))

        async def attempt(store: ObjectStore) -> None:
            file.seek(0)
            await store.put(name, cast("io.BufferedIOBase", file), meta=meta)

        await self._patiently(attempt)
        return name

    async def put_once(self, kind: str, data: bytes) -> str:
        """Store by content. Nothing is sent when it is there already."""
        name = digest_name(kind, data)
        if not await self.exists(name):
            await self.put(name, data)
        return name

    async def get(self, name: str) -> bytes:
        """The whole object, its digest checked. Raises `ObjectMissing`."""
        buffer = io.BytesIO()
        await self.get_into(name, buffer)
        return buffer.getvalue()

    async def get_into(self, name: str, file: BinaryIO) -> None:
        """Write the object to an open file, its digest checked, and rewind it. Raises `ObjectMissing`."""

        async def attempt(store: ObjectStore) -> None:
            file.seek(0)
            file.truncate()
            await store.get(name, writeinto=cast("io.BufferedIOBase", file))

        try:
            await self._patiently(attempt)
        except (ObjectNotFoundError, NotFoundError) as error:
            raise ObjectMissing(name) from error
        file.seek(0)

    async def get_small(self, name: str) -> bytes | None:
        """An object that is stored in one piece, without the consumer that a larger one needs: for reading many. None
        for any other, and for one that couldn't be had this way."""
        js = self._connection.jetstream(timeout=ANSWER_SECONDS)
        stream, bucket = f"OBJ_{subjects.OBJECT_BUCKET}", f"$O.{subjects.OBJECT_BUCKET}"
        try:
            meta = await js.get_msg(stream, subject=f"{bucket}.M.{_encoded(name)}", direct=True)
            info = ObjectInfo.from_response(json.loads(meta.data or b""))
            if info.deleted or info.chunks != 1:
                return None
            data = (await js.get_msg(stream, subject=f"{bucket}.C.{info.nuid}", direct=True)).data or b""
        except (nats.errors.Error, NoStreamResponseError, APIError, NotFoundError, TimeoutError):
            return None
        return data if info.digest == f"SHA-256={_encoded(hashlib.sha256(data).digest())}" else None

    async def exists(self, name: str) -> bool:
        async def attempt(store: ObjectStore) -> None:
            await store.get_info(name)

        try:
            await self._patiently(attempt)
        except (ObjectNotFoundError, NotFoundError):
            return False
        return True

    async def delete(self, name: str) -> None:
        async def attempt(store: ObjectStore) -> None:
            await store.delete(name)

        with contextlib.suppress(ObjectNotFoundError, NotFoundError):
            await self._patiently(attempt)

    async def _patiently(self, attempt: Callable[[ObjectStore], Awaitable[None]]) -> None:
        """Try for as long as the bus is away and patience lasts. A missing object is missing at once."""
        deadline = asyncio.get_running_loop().time() + self._patience
        while True:
            try:
                if self._bucket is None:
                    js = self._connection.jetstream(timeout=ANSWER_SECONDS)
                    self._bucket = await js.object_store(subjects.OBJECT_BUCKET)
                # a reader whose object is replaced under it waits for chunks that never come
                async with asyncio.timeout(TRANSFER_SECONDS):
                    await attempt(self._bucket)
            except (ObjectNotFoundError, NotFoundError):
                raise
            except (nats.errors.Error, NoStreamResponseError, APIError, TimeoutError):
                if asyncio.get_running_loop().time() > deadline:
                    raise
                await asyncio.sleep(0.3)
            else:
                return
