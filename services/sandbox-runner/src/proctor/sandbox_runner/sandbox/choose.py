"""Which back end a runner uses, and why, in words for its log."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from proctor.sandbox_runner.sandbox.bubblewrap_backend import BubblewrapBackend
from proctor.sandbox_runner.sandbox.docker_backend import DockerBackend
from proctor.sandbox_runner.sandbox.engine import Engine
from proctor.sandbox_runner.sandbox.errors import ErrorKind, SandboxError
from proctor.sandbox_runner.sandbox.protocol import Backend, SandboxSpec

Setting = Literal["auto", "docker", "bubblewrap"]
PULL_SECONDS = 30.0

_ANOTHER_WAY: Mapping[ErrorKind, str] = {
    ErrorKind.IMAGE_MISSING: "the image can't be had",
    ErrorKind.ENGINE_UNAVAILABLE: "the engine doesn't answer",
    ErrorKind.ENGINE_PERMISSION: "the engine refuses this user",
}


@dataclass(frozen=True, slots=True)
class Choice:
    backend: Backend
    reason: str


async def choose_backend(
    setting: Setting,
    *,
    installation: str,
    host: str,
    state: Path,
    engine_url: str | None = None,
) -> Choice:
    """Docker when its engine answers, else bubblewrap; raises SandboxError when what is asked for isn't there.

    `state` is this runner's own folder; `engine_url` defaults to DOCKER_HOST.
    """
    refusal = None
    if setting != "bubblewrap":
        engine = Engine(engine_url)
        try:
            await engine.connect()
        except SandboxError as error:
            await engine.close()
            if setting == "docker":
                raise
            refusal = error
        else:
            return Choice(DockerBackend(engine, installation=installation, host=host), "the Docker engine answers")
    bubblewrap = BubblewrapBackend(state)
    try:
        await bubblewrap.probe()
    except SandboxError as error:
        if refusal is None:
            raise
        raise SandboxError(refusal.kind, f"{refusal.message}; and {error.message}") from error
    if refusal is None:
        return Choice(bubblewrap, "the setting asks for bubblewrap")
    return Choice(bubblewrap, f"{refusal.message}; bubblewrap instead, which is not for untrusted agents")


async def fallback_reason(backend: Backend, spec: SandboxSpec, seconds: float = PULL_SECONDS) -> str | None:
    """Why this task can't use `backend` and should try bubblewrap; None when its image is there or could be made.

    A named image gets `seconds` to arrive (its pull goes on behind, for the next attempt); a build has its own
    timeout. A build that fails by itself is the task's fault: that error is raised, bubblewrap would hide it.
    """
    try:
        async with asyncio.timeout(seconds if spec.image else None):
            await backend.prepare(spec)
    except TimeoutError:
        return f"image {spec.image} is not here and did not arrive within {seconds:.0f} s"
    except SandboxError as error:
        if error.kind not in _ANOTHER_WAY:
            raise
        return f"{_ANOTHER_WAY[error.kind]}: {error.message}"
    return None
