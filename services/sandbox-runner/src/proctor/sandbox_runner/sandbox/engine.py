"""The Docker Engine, through its SDK in a few threads; every failure leaves as a SandboxError."""

import asyncio
import functools
import os
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, cast

import docker
import docker.errors
import docker.types
import docker.utils
import requests

from proctor.sandbox_runner.sandbox.errors import ErrorKind, SandboxError
from proctor.sandbox_runner.sandbox.stream import EngineStream

_CALL_SECONDS = 60.0
_THREADS = 8

_HOW_TO_REACH = "start it, or name it in DOCKER_HOST"
_HOW_TO_PERMIT = (
    "add the user that runs the sandbox runner to the group `docker` (usermod -aG docker USER, then log in again), "
    "or point DOCKER_HOST at a rootless engine's socket"
)


type Reply = Any  # what the Engine says, as the SDK decodes it


class _Client(docker.APIClient):
    """Remembers its last response, so that a long build or pull can be broken off from another thread."""

    last: Reply = None

    def _post(self, url: str, **options: object) -> Reply:
        self.last = cast("Any", super())._post(url, **options)
        return self.last


_make_client = cast("Callable[..., Any]", _Client)


class Engine:
    def __init__(self, base_url: str | None = None) -> None:
        options = cast("dict[str, Any]", docker.utils.kwargs_from_env())
        self._options = options | ({"base_url": base_url} if base_url else {})
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="docker")
        self._streams = ThreadPoolExecutor(_THREADS, thread_name_prefix="docker-stream")
        self._client: Any = None

    async def connect(self) -> None:
        """Reach the Engine; raises engine_unavailable or engine_permission."""
        self._client = await self._in_thread(
            functools.partial(_make_client, **self._options, version="auto", timeout=_CALL_SECONDS, max_pool_size=32)
        )

    async def call(self, method: str, *args: object, **options: object) -> Reply:
        """One method of the SDK's low-level client."""
        if self._client is None:
            await self.connect()
        return await self._in_thread(functools.partial(getattr(self._client, method), *args, **options))

    async def attach(self, exec_id: str) -> EngineStream:
        """Start an exec and take its connection over."""
        raw = await self.call("exec_start", exec_id, socket=True)
        reader, writer = await asyncio.open_connection(sock=_take_over(raw))
        return EngineStream(reader, writer)

    @asynccontextmanager
    async def progress(self, method: str, **options: object) -> AsyncGenerator[Callable[[], Awaitable[Reply]]]:
        """A build's or pull's messages, one per call; leaving the block early ends the work at the Engine."""
        await self.call("ping")
        client = _make_client(**self._options, version=self._client.api_version, timeout=None)
        start = functools.partial(getattr(client, method), decode=True, **options)
        try:
            messages: Iterator[Any] = await self._in_thread(start, self._streams)
            step = functools.partial(next, messages, None)
            yield lambda: self._in_thread(step, self._streams)
        finally:
            if client.last is not None:
                docker.types.CancellableStream(iter(()), client.last).close()
            client.close()

    async def close(self) -> None:
        if self._client is not None:
            await self._in_thread(self._client.close)
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._streams.shutdown(wait=False, cancel_futures=True)

    async def _in_thread(self, function: Callable[[], Any], pool: ThreadPoolExecutor | None = None) -> Reply:
        try:
            return await asyncio.get_running_loop().run_in_executor(pool or self._pool, function)
        except (docker.errors.DockerException, requests.RequestException) as error:
            raise explain(error) from error


def _take_over(raw: Reply) -> socket.socket:
    """A socket of our own from what `exec_start` returns; the SDK's end is let go of, its response included."""
    connection = socket.socket(fileno=os.dup(raw.fileno()))
    connection.setblocking(False)
    raw._response.close()
    return connection


def explain(error: Exception) -> SandboxError:
    """What an SDK exception means for a sandbox."""
    text = str(getattr(error, "explanation", None) or error)
    if isinstance(error, docker.errors.ImageNotFound):
        return SandboxError(ErrorKind.IMAGE_MISSING, text)
    if isinstance(error, docker.errors.NotFound) or _status(error) == 409:
        return SandboxError(ErrorKind.SANDBOX_GONE, text)
    if "no space left on device" in text.lower():
        return SandboxError(ErrorKind.DISK_FULL, f"the Docker engine's disk is full: {text}")
    if isinstance(error, docker.errors.APIError):
        return SandboxError(ErrorKind.START_FAILED, text, retry=(_status(error) or 500) >= 500)
    if "Permission denied" in text:
        return SandboxError(ErrorKind.ENGINE_PERMISSION, f"no permission to use the Docker engine; {_HOW_TO_PERMIT}")
    return SandboxError(ErrorKind.ENGINE_UNAVAILABLE, f"the Docker engine doesn't answer ({text}); {_HOW_TO_REACH}")


def label_filter(labels: Mapping[str, str]) -> dict[str, list[str]]:
    return {"label": [f"{name}={value}" for name, value in labels.items()]}


def _status(error: Exception) -> int | None:
    response = getattr(error, "response", None)
    return getattr(response, "status_code", None)
