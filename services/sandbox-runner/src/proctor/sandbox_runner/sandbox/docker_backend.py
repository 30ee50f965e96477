"""Sandboxes as Docker containers."""

import asyncio
import contextlib
from collections.abc import Awaitable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import docker.types

from proctor.sandbox_runner.sandbox import wire
from proctor.sandbox_runner.sandbox.cgroup import Cgroup, of_container
from proctor.sandbox_runner.sandbox.engine import Engine, label_filter
from proctor.sandbox_runner.sandbox.errors import ErrorKind, SandboxError
from proctor.sandbox_runner.sandbox.images import Image, Images
from proctor.sandbox_runner.sandbox.laned import ROOT, LanedSandbox
from proctor.sandbox_runner.sandbox.protocol import LOG_DIRECTORIES, MEBIBYTE, SandboxSpec, Usage
from proctor.sandbox_runner.sandbox.stream import Stream

NAME = "docker"
_START_SECONDS = 90.0
_GONE_WITHIN = 20.0
_ID, _USER, _WORKDIR = "proctor.sandbox", "proctor.user", "proctor.workdir"

# What package managers, `su` and services in a task need; nothing that reaches the host.
CAPABILITIES = (
    *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD"),
    *("NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
)


def keep_alive(lifetime: float) -> str:
    """PID 1: ends by itself after `lifetime` seconds, and outlives an agent's `pkill sleep`."""
    folders = " ".join(LOG_DIRECTORIES)
    return (
        f"mkdir -p {folders}; chmod 777 /logs {folders}; : >/run/proctor/ready; "
        f"while (( SECONDS < {lifetime:.0f} )); do sleep 60 & wait $!; done"
    )


@dataclass(frozen=True, slots=True)
class Container:
    """`laned.Enclosure` of a container. `group`: where its usage can be read without the Engine."""

    engine: Engine
    container: str
    id: str
    image: str
    workdir: str
    user: str
    group: Cgroup | None
    backend: str = NAME

    def lane_user(self, user: str | None) -> str:
        return ROOT if (user or self.user) in {"root", ROOT} else user or self.user

    def shell(self, user: str | None) -> str:  # noqa: ARG002 - the Engine opened the lane as this user
        return 'exec "$BASH" -c'

    async def connect(self, lane_user: str) -> Stream:
        command, user = list(wire.COMMAND), lane_user
        try:
            created = await self.engine.call("exec_create", self.container, command, stdin=True, user=user, workdir="/")
            return await self.engine.attach(created["Id"])
        except SandboxError as error:
            if "unable to find user" in error.message:
                raise SandboxError(ErrorKind.USER_MISSING, f"the image has no user {user}") from error
            if error.kind is ErrorKind.START_FAILED and not (await self.facts())["alive"]:
                raise SandboxError(ErrorKind.SANDBOX_GONE, error.message) from error
            raise

    async def facts(self) -> dict[str, object]:
        try:
            state = (await self.engine.call("inspect_container", self.container))["State"]
        except SandboxError as error:
            if error.kind is ErrorKind.SANDBOX_GONE:
                return {"alive": False, "oom_killed": None}
            raise
        alive = bool(state["Running"]) and state["Status"] == "running"
        return {"alive": alive, "oom_killed": bool(state["OOMKilled"])}

    async def usage(self) -> Usage:
        # an engine takes up to a second for it, and tells no peak with version 2
        if self.group is not None:
            return self.group.usage()
        stats = await self.engine.call("stats", self.container, stream=False, one_shot=True)
        nanoseconds, peak = stats["cpu_stats"]["cpu_usage"]["total_usage"], stats["memory_stats"].get("max_usage")
        return Usage(nanoseconds / 10**9, peak)

    async def destroy(self) -> None:
        await remove(self.engine, self.container)


async def remove(engine: Engine, container: str) -> None:
    """Remove a container and wait until it is gone; none is fine."""
    try:
        async with asyncio.timeout(_GONE_WITHIN):
            await _unless_gone(engine.call("remove_container", container, force=True, v=True))
            while True:  # an auto-removal that is already under way answers 409 at once
                await _unless_gone(engine.call("inspect_container", container))
                await asyncio.sleep(0.01)
    except _Gone:
        return
    except TimeoutError:
        message = f"the Docker engine did not remove container {container[:12]} within {_GONE_WITHIN:.0f} s"
        raise SandboxError(ErrorKind.ENGINE_UNAVAILABLE, message) from None


class DockerBackend:
    """`protocol.Backend`; `installation` and `host` mark what this runner may sweep."""

    name = NAME
    trusted_only = False

    def __init__(self, engine: Engine, *, installation: str, host: str) -> None:
        self._engine = engine
        self._installed = {"proctor.installation": installation}
        self._ours = self._installed | {"proctor.host": host}
        self._images = Images(engine, self._installed)
        self._starting: set[str] = set()

    async def prepare(self, spec: SandboxSpec) -> None:
        await self._images.resolve(spec)

    async def start(self, spec: SandboxSpec) -> LanedSandbox:
        work = asyncio.create_task(self._start(spec))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            with contextlib.suppress(SandboxError):
                await (await work).stop()
            raise

    async def adopt(self, sandbox_id: str) -> LanedSandbox | None:
        found = await self._engine.call("containers", filters=label_filter(self._ours | {_ID: sandbox_id}))
        if not found:
            return None
        labels: dict[str, str] = found[0]["Labels"]
        container = Container(
            engine=self._engine,
            container=found[0]["Id"],
            id=sandbox_id,
            image=found[0]["ImageID"],
            workdir=labels[_WORKDIR],
            user=labels[_USER],
            group=of_container(found[0]["Id"]),
        )
        sandbox = LanedSandbox(container)
        await sandbox.reopen()
        return sandbox

    async def sweep(self, keep: Collection[str]) -> list[str]:
        return await self._remove(self._ours, {*keep, *self._starting})

    async def remove(self, labels: Mapping[str, str]) -> list[str]:
        # a runner that is gone for good leaves its sandboxes to the others on its engine
        return await self._remove(self._installed | dict(labels), ())

    async def found(self) -> list[Mapping[str, str]]:
        containers = await self._engine.call("containers", all=True, filters=label_filter(self._installed))
        return [each["Labels"] for each in containers if each["Labels"].get(_ID) not in self._starting]

    async def close(self) -> None:
        await self._engine.close()

    async def _remove(self, labels: Mapping[str, str], keep: Collection[str]) -> list[str]:
        found = await self._engine.call("containers", all=True, filters=label_filter(labels))
        leftovers = {each["Id"]: each["Labels"].get(_ID, "") for each in found}
        doomed = {container: sandbox for container, sandbox in leftovers.items() if sandbox not in keep}
        await asyncio.gather(*(remove(self._engine, container) for container in doomed))
        return sorted(doomed.values())

    async def _start(self, spec: SandboxSpec) -> LanedSandbox:
        self._starting.add(spec.id)
        try:
            image = await self._images.resolve(spec)
            async with asyncio.timeout(_START_SECONDS):
                created = await self._engine.call("create_container", **self._settings(spec, image))
                return await self._run(created["Id"], spec, image)
        except TimeoutError:
            message = f"the container did not start within {_START_SECONDS:.0f} s; the engine may be overloaded"
            raise SandboxError(ErrorKind.START_TIMEOUT, message) from None
        finally:
            self._starting.discard(spec.id)

    async def _run(self, container: str, spec: SandboxSpec, image: Image) -> LanedSandbox:
        try:
            await self._engine.call("start", container)
            enclosure = Container(
                engine=self._engine,
                container=container,
                id=spec.id,
                image=image.id,
                workdir=spec.workdir or image.workdir,
                user=spec.user or image.user,
                group=of_container(container),
            )
            sandbox = LanedSandbox(enclosure)
            await sandbox.open(spec.env)
        except BaseException as error:
            await asyncio.shield(remove(self._engine, container))
            if isinstance(error, SandboxError) and "executable file not found" in error.message:
                hint = "install bash in the Dockerfile"
                raise SandboxError(ErrorKind.UNSUPPORTED_ENVIRONMENT, f"the image has no bash; {hint}") from error
            raise
        return sandbox

    def _settings(self, spec: SandboxSpec, image: Image) -> dict[str, Any]:
        memory = spec.memory_mb * MEBIBYTE if spec.memory_mb else None
        disk = spec.disk_mb * MEBIBYTE
        limits: dict[str, Any] = {"mem_limit": memory, "memswap_limit": memory} if memory else {}
        if spec.cpus:
            limits |= {"cpu_period": 100_000, "cpu_quota": int(spec.cpus * 100_000)}
        host_config: dict[str, Any] = docker.types.HostConfig(
            version="1.41",
            auto_remove=True,
            network_mode="none" if spec.network == "none" else "bridge",
            security_opt=["no-new-privileges"],
            cap_drop=["ALL"],
            cap_add=list(CAPABILITIES),
            pids_limit=spec.pids,
            # Engines rarely have disk quotas; this at least bounds every single file.
            ulimits=[docker.types.Ulimit(name="fsize", soft=disk, hard=disk)],
            log_config=docker.types.LogConfig(type="none"),
            tmpfs={"/run/proctor": "size=256m,mode=1777"},
            **limits,
        )
        return {
            "image": image.id,
            "entrypoint": ["bash", "-p", "-c", keep_alive(spec.lifetime)],
            "command": [],
            "user": ROOT,
            "working_dir": spec.workdir or image.workdir,
            "healthcheck": {"test": ["NONE"]},
            "hostname": "sandbox",
            "host_config": host_config,
            "labels": {
                **spec.labels,
                **self._ours,
                _ID: spec.id,
                _USER: spec.user or image.user,
                _WORKDIR: spec.workdir or image.workdir,
            },
        }


class _Gone(Exception):
    """The container isn't there any more."""


async def _unless_gone(call: Awaitable[object]) -> None:
    try:
        await call
    except SandboxError as error:
        if error.kind is not ErrorKind.SANDBOX_GONE:
            raise
        if "removal" not in error.message:
            raise _Gone from error
