"""One image per environment digest, built or pulled once however many attempts wait for it."""

import asyncio
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import docker.utils

from proctor.sandbox_runner.sandbox.engine import Engine
from proctor.sandbox_runner.sandbox.errors import ErrorKind, SandboxError
from proctor.sandbox_runner.sandbox.protocol import SandboxSpec

_AT_ONCE = 2
_TAIL_LINES = 30
_TAIL_CHARACTERS = 3_000
_NO_BASE_IMAGE = re.compile(
    r"pull access denied|manifest .*(unknown|not found)|not found: manifest|repository .* not found"
    r"|dial tcp|no such host|TLS handshake|i/o timeout|connection refused|certificate"
    r"|net/http: request canceled|failed to resolve|toomanyrequests|unauthorized",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Image:
    id: str
    user: str
    workdir: str


def tag(environment_digest: str) -> str:
    name = re.sub(r"[^a-z0-9]", "", environment_digest.lower().removeprefix("sha256:"))
    return f"proctor/{name[:24]}"


class Images:
    def __init__(self, engine: Engine, labels: Mapping[str, str]) -> None:
        self._engine = engine
        self._labels = dict(labels)
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._builds = asyncio.Semaphore(_AT_ONCE)

    async def resolve(self, spec: SandboxSpec) -> Image:
        """The spec's image, made present if it isn't."""
        name = spec.image or tag(spec.environment_digest)
        if found := await self._find(name):
            return found
        work = self._under_way.get(name)
        if work is None:
            make = self._pull(name, spec) if spec.image else self._build(name, spec)
            work = self._under_way[name] = asyncio.create_task(make)
            work.add_done_callback(lambda done: self._forget(name, done))
        await asyncio.shield(work)
        if found := await self._find(name):
            return found
        raise SandboxError(ErrorKind.IMAGE_MISSING, f"image {name} vanished right after it was made")

    def _forget(self, name: str, work: asyncio.Task[None]) -> None:
        self._under_way.pop(name, None)
        if not work.cancelled():
            work.exception()  # every caller may have been cancelled meanwhile

    async def _find(self, name: str) -> Image | None:
        try:
            image = await self._engine.call("inspect_image", name)
        except SandboxError as error:
            if error.kind in {ErrorKind.IMAGE_MISSING, ErrorKind.SANDBOX_GONE}:
                return None
            raise
        config: dict[str, Any] = image.get("Config") or {}
        return Image(image["Id"], config.get("User") or "0", config.get("WorkingDir") or "/")

    async def _pull(self, name: str, spec: SandboxSpec) -> None:
        repository, version = docker.utils.parse_repository_tag(name)
        failure = await self._follow(
            "pull", deque(), spec.build_timeout, repository=repository, tag=version or "latest", stream=True
        )
        if failure is not None:
            hint = "check the name, and that this machine can reach its registry"
            raise SandboxError(ErrorKind.IMAGE_MISSING, f"image {name} could not be pulled: {failure}; {hint}")

    async def _build(self, name: str, spec: SandboxSpec) -> None:
        if not (spec.environment / "Dockerfile").is_file():
            hint = "add a Dockerfile, or name an image in [environment] docker_image"
            raise SandboxError(ErrorKind.UNSUPPORTED_ENVIRONMENT, f"the task has no environment/Dockerfile; {hint}")
        log: deque[str] = deque(maxlen=_TAIL_LINES)
        async with self._builds:
            failure = await self._follow(
                "build",
                log,
                spec.build_timeout,
                path=str(spec.environment),
                tag=name,
                labels=self._labels,
                rm=True,
                forcerm=True,
            )
        if failure is not None:
            raise _build_error(failure, "".join(log))

    async def _follow(self, method: str, log: deque[str], seconds: float, **options: object) -> str | None:
        """Read an Engine operation's messages to their end; return the error it reports, if any."""
        try:
            async with asyncio.timeout(seconds), self._engine.progress(method, **options) as step:
                while message := await step():
                    if "error" in message:
                        return str(message["error"])
                    log.append(str(message.get("stream") or message.get("status") or ""))
        except TimeoutError:
            if method == "pull":
                return f"not finished within {seconds:.0f} s"
            raise SandboxError(
                ErrorKind.BUILD_TIMEOUT,
                f"the image's build took longer than its {seconds:.0f} s (build_timeout_sec); "
                f"it had come to:\n{_tail(''.join(log))}",
            ) from None
        except SandboxError as error:
            if error.kind is ErrorKind.START_FAILED:  # refused as a whole, like a Dockerfile that doesn't parse
                return error.message
            raise
        return None


def _build_error(failure: str, log: str) -> SandboxError:
    if "no space left on device" in (failure + log).lower():
        return SandboxError(ErrorKind.DISK_FULL, f"the image's build filled the engine's disk: {failure}")
    if _NO_BASE_IMAGE.search(failure) and "returned a non-zero code" not in failure:
        hint = "check FROM, and that this machine can reach its registry"
        return SandboxError(ErrorKind.IMAGE_MISSING, f"the base image could not be pulled: {failure}; {hint}")
    return SandboxError(ErrorKind.BUILD_FAILED, f"the image's build failed: {failure}\n{_tail(log)}".rstrip())


def _tail(log: str) -> str:
    return log.strip()[-_TAIL_CHARACTERS:]
