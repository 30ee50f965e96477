"""Sandboxes as bubblewrap processes over the host's own files: no engine, for trusted agents."""

import asyncio
import hashlib
import os
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from proctor.sandbox_runner.sandbox import dockerfile, layer
from proctor.sandbox_runner.sandbox.bubblewrap_command import ACCOUNTS, View, arguments
from proctor.sandbox_runner.sandbox.bubblewrap_process import Inmate, complaint, end, kill_stranded, spawn
from proctor.sandbox_runner.sandbox.cgroup import Cgroup, Group, Limits, open_group
from proctor.sandbox_runner.sandbox.errors import ErrorKind, SandboxError
from proctor.sandbox_runner.sandbox.laned import ROOT, LanedSandbox
from proctor.sandbox_runner.sandbox.protocol import MEBIBYTE, SandboxSpec, Usage
from proctor.sandbox_runner.sandbox.stream import PipeStream, Stream

NAME = "bubblewrap"
_START_SECONDS = 20.0
_DEFAULT_MEMORY_MB = 4096


@dataclass(slots=True)
class Enclave:
    """`laned.Enclosure` of a bubblewrap process, whose PID 1 is the sandbox's only lane."""

    id: str
    workdir: str
    user: str | None
    inmate: Inmate
    cgroup: Cgroup | None
    privileged: bool
    ended: Callable[[], object]
    image: str = "host"
    backend: str = NAME
    _connected: bool = field(default=False, init=False)
    _destroyed: asyncio.Task[None] | None = field(default=None, init=False)

    def lane_user(self, user: str | None) -> str:  # noqa: ARG002 - there is one lane
        return ROOT

    def shell(self, user: str | None) -> str:
        name = user or self.user or "root"
        if name in {"root", ROOT}:
            return 'exec "$BASH" -c'
        if not self.privileged:
            hint = "run the sandbox runner as root, or use Docker"
            raise SandboxError(
                ErrorKind.UNSUPPORTED_ENVIRONMENT, f"user {name}: a plain user's bubblewrap has only root; {hint}"
            )
        who = shlex.quote(name)
        if name.isdecimal():
            return f'exec setpriv --reuid={who} --regid={who} --clear-groups "$BASH" -c'
        return f'exec setpriv --reuid={who} --regid="$(id -g {who})" --init-groups "$BASH" -c'

    async def connect(self, lane_user: str) -> Stream:  # noqa: ARG002
        if self._connected:
            raise SandboxError(ErrorKind.SANDBOX_GONE, f"sandbox {self.id} ended")
        self._connected = True
        return PipeStream(self.inmate.process)

    async def facts(self) -> dict[str, object]:
        oom_killed = self.cgroup.oom_kills() > 0 if self.cgroup else None
        return {"alive": self.inmate.process.returncode is None, "oom_killed": oom_killed}

    async def usage(self) -> Usage:
        return self.cgroup.usage() if self.cgroup else Usage()

    async def destroy(self) -> None:
        if self._destroyed is None:
            self._destroyed = asyncio.create_task(self._destroy())
        await asyncio.shield(self._destroyed)

    async def _destroy(self) -> None:
        await end(self.inmate)
        if self.cgroup:
            self.cgroup.remove()
        self.ended()


class BubblewrapBackend:
    """`protocol.Backend`. `state` is this runner's own folder; the event loop's thread must outlive the sandboxes."""

    name = NAME
    trusted_only = True

    def __init__(self, state: Path) -> None:
        self._state = state.resolve()
        self._live: dict[str, tuple[Mapping[str, str], LanedSandbox | None]] = {}
        self._packing = asyncio.Lock()
        self._probing = asyncio.Lock()
        self._group: Group | None = None
        self._overlay: bool | None = None

    async def probe(self) -> None:
        """Find out what this host allows; raises engine_unavailable when bubblewrap doesn't work on it."""
        async with self._probing:
            if self._overlay is not None:
                return
            accounts = self._state / "accounts"
            accounts.mkdir(parents=True, exist_ok=True)
            for name, content in ACCOUNTS.items():
                (accounts / name).write_text(content)
            digest = hashlib.sha256(str(self._state).encode()).hexdigest()[:12]
            self._group = open_group(f"proctor-{digest}")
            if said := await asyncio.to_thread(complaint, arguments(self._view(overlay=False))):
                raise SandboxError(ErrorKind.ENGINE_UNAVAILABLE, f"bubblewrap doesn't work on this host: {said}")
            # Only the memory limit bounds what goes into the overlay.
            said = await asyncio.to_thread(complaint, arguments(self._view(overlay=True)))
            self._overlay = self._group is not None and said is None

    async def prepare(self, spec: SandboxSpec) -> None:
        await self.probe()
        await self._layer(spec)

    async def start(self, spec: SandboxSpec) -> LanedSandbox:
        await self.probe()
        if spec.id in self._live:
            raise SandboxError(ErrorKind.START_FAILED, f"sandbox {spec.id} runs already", retry=False)
        self._live[spec.id] = (spec.labels, None)
        try:
            async with asyncio.timeout(_START_SECONDS):
                return await self._start(spec)
        except BaseException as error:
            self._live.pop(spec.id, None)
            if isinstance(error, TimeoutError):
                message = f"bubblewrap did not start within {_START_SECONDS:.0f} s; the machine may be overloaded"
                raise SandboxError(ErrorKind.START_TIMEOUT, message) from None
            raise

    async def adopt(self, sandbox_id: str) -> None:
        """None, always: these sandboxes die with the process that started them."""

    async def sweep(self, keep: Collection[str]) -> list[str]:
        """Stop what isn't kept, and remove the control groups of a killed runner (its processes died with it)."""
        await self.probe()
        await asyncio.to_thread(kill_stranded, self._state)
        removed = await self._stop(sandbox_id for sandbox_id in self._live if sandbox_id not in keep)
        if self._group:
            known = {_folder(sandbox_id) for sandbox_id in (*self._live, *keep)}
            for name in self._group.names() - known:
                await asyncio.to_thread(self._group.find(name).remove)
                removed.append(name)
        return sorted(removed)

    async def remove(self, labels: Mapping[str, str]) -> list[str]:
        return await self._stop(
            sandbox_id for sandbox_id, (has, _) in self._live.items() if labels.items() <= dict(has).items()
        )

    async def found(self) -> list[Mapping[str, str]]:
        return []

    async def close(self) -> None:
        """Stops all sandboxes, since none could be adopted again."""
        await self._stop(self._live)
        if self._group:
            self._group.remove()

    async def _stop(self, ids: Iterable[str]) -> list[str]:
        doomed = {sandbox_id: sandbox for sandbox_id in ids if (sandbox := self._live[sandbox_id][1])}
        await asyncio.gather(*(sandbox.stop() for sandbox in doomed.values()))
        return sorted(doomed)

    async def _start(self, spec: SandboxSpec) -> LanedSandbox:
        recipe, files = await self._layer(spec)
        workdir = spec.workdir or recipe.workdir
        view = self._view(
            overlay=bool(self._overlay),
            network=spec.network == "public",
            disk=_disk(spec),
            workdirs=(*recipe.workdirs, workdir),
            layer=files,
        )
        limits = Limits(_memory(spec) + view.disk, spec.pids, spec.cpus)
        cgroup = self._group.create(_folder(spec.id), limits) if self._group else None
        try:
            inmate = await spawn(arguments(view), cgroup)
        except BaseException:
            if cgroup:
                cgroup.remove()
            raise
        enclave = Enclave(
            id=spec.id,
            workdir=workdir,
            user=spec.user,
            inmate=inmate,
            cgroup=cgroup,
            privileged=view.privileged,
            ended=lambda: self._live.pop(spec.id, None),
        )
        sandbox = LanedSandbox(enclave)
        try:
            await sandbox.open({**recipe.env, **spec.env}, prelude=_without_cgroup(spec) if cgroup is None else "")
            if files:
                await sandbox.extract("/run/proctor/layer.tar")
        except BaseException:
            await sandbox.stop()
            raise
        self._live[spec.id] = (spec.labels, sandbox)
        return sandbox

    async def _layer(self, spec: SandboxSpec) -> tuple[dockerfile.Recipe, Path | None]:
        """What the task's Dockerfile asks for, its files packed once per environment digest."""
        path = spec.environment / "Dockerfile"
        if not path.is_file():
            what = f"image {spec.image}" if spec.image else "environment/Dockerfile, which is missing"
            raise SandboxError(
                ErrorKind.UNSUPPORTED_ENVIRONMENT, f"the task needs {what}; bubblewrap only has this host's files"
            )
        recipe = dockerfile.parse(path.read_text())
        if not recipe.copies:
            return recipe, None
        packed = self._state / "layers" / f"{_folder(spec.environment_digest)}.tar"
        async with self._packing:
            if not packed.exists():
                packed.parent.mkdir(parents=True, exist_ok=True)
                draft = packed.with_suffix(f".{os.getpid()}")
                await asyncio.to_thread(layer.pack, recipe, spec.environment, draft)
                draft.replace(packed)
        return recipe, packed

    def _view(
        self,
        *,
        overlay: bool,
        network: bool = False,
        disk: int = 64 * MEBIBYTE,
        workdirs: tuple[str, ...] = (),
        layer: Path | None = None,
    ) -> View:
        return View(
            privileged=os.geteuid() == 0,
            network=network,
            overlay=overlay,
            disk=disk,
            workdirs=workdirs,
            accounts=self._state / "accounts",
            layer=layer,
        )


def _folder(name: str) -> str:
    return re.sub(r"[^\w.-]", "_", name)


def _host_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _memory(spec: SandboxSpec) -> int:
    return spec.memory_mb * MEBIBYTE if spec.memory_mb else min(_DEFAULT_MEMORY_MB * MEBIBYTE, _host_memory() // 2)


def _disk(spec: SandboxSpec) -> int:
    """The writable root is memory, so a sandbox gets a quarter of the host's at most."""
    return min(spec.disk_mb * MEBIBYTE, _host_memory() // 4)


def _without_cgroup(spec: SandboxSpec) -> str:
    """Bash that limits each process where the whole sandbox can't be limited."""
    return f"ulimit -v {_memory(spec) // 1024} -u {spec.pids}\n"
