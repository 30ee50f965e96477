"""A sandbox worked through lanes, whatever holds it."""

import asyncio
import base64
import contextlib
import itertools
import posixpath
import shlex
import time
from collections.abc import Mapping
from typing import Protocol

from proctor.sandbox_runner.sandbox import transfer, wire
from proctor.sandbox_runner.sandbox.errors import ErrorKind, SandboxError
from proctor.sandbox_runner.sandbox.lane import Lane, LaneLost, Run
from proctor.sandbox_runner.sandbox.protocol import MAX_OUTPUT, Baseline, ExecResult, Usage
from proctor.sandbox_runner.sandbox.stream import Stream

ROOT = "0"
KILLED = 137
_LAST_WORDS = 10.0
_USAGE_SECONDS = 3.0
_COUNT_OOM_KILLS = """for file in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
  [[ -r $file ]] && while read -r name count; do [[ $name == oom_kill ]] && echo "$count"; done <"$file"
done"""


class Enclosure(Protocol):
    """What holds the processes: a container, or a bubblewrap process."""

    @property
    def id(self) -> str: ...
    @property
    def backend(self) -> str: ...
    @property
    def image(self) -> str: ...
    @property
    def workdir(self) -> str: ...

    def lane_user(self, user: str | None) -> str:
        """Whose lane a command of this user takes; `ROOT` for the one that may kill."""
        ...

    def shell(self, user: str | None) -> str:
        """Bash that becomes a shell of this user, up to its `-c`."""
        ...

    async def connect(self, lane_user: str) -> Stream: ...
    async def facts(self) -> dict[str, object]: ...
    async def usage(self) -> Usage: ...
    async def destroy(self) -> None: ...


class LanedSandbox:
    """`protocol.Sandbox` over an enclosure. Numbers name commands and tag their processes."""

    def __init__(self, enclosure: Enclosure) -> None:
        self._enclosure = enclosure
        self._lanes: dict[str, Lane] = {}
        self._opening: dict[str, asyncio.Lock] = {}
        self._numbers = itertools.count(1)
        self._stopped = False
        self.id = enclosure.id
        self.backend = enclosure.backend
        self.image = enclosure.image
        self.workdir = enclosure.workdir

    async def open(self, env: Mapping[str, str], prelude: str = "") -> None:
        """Open the first lane of a new sandbox; `env` and `prelude` (bash) hold for every command from now on."""
        lane = await self._lane(ROOT)
        if code := prelude + wire.exports(env):
            await lane.put(next(self._numbers), "../env", wire.encode(code))

    async def reopen(self) -> None:
        """Open the first lane of an adopted sandbox, past the numbers its processes carry."""
        lane = await self._lane(ROOT)
        tags = {int(process.rpartition(":")[2]) for process in await lane.processes(next(self._numbers))}
        self._numbers = itertools.count(max(tags, default=0) - min(tags, default=0) + 2)

    async def exec(
        self,
        command: str,
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        user: str | None = None,
        timeout: float | None,  # noqa: ASYNC109
        max_output: int = MAX_OUTPUT,
    ) -> ExecResult:
        number = next(self._numbers)
        files: dict[str, bytes] = {}
        text = wire.encode(command)
        code = wire.enter(cwd or self.workdir, env or {}) + self._enclosure.shell(user)
        if len(text) < wire.LONGEST_ARGUMENT:
            code += f" {shlex.quote(command)}"
        else:
            files[f"{number}.sh"] = text
            code = f'exec 3<"$dir/{number}.sh"\n{code} ' + shlex.quote('text=$(cat <&3); exec 3<&-; eval "$text"')
        lane_user = self._enclosure.lane_user(user)
        return await self._run(number, code, files, lane_user=lane_user, seconds=timeout, max_output=max_output)

    async def script(
        self,
        code: str,
        *,
        stdin: bytes | None = None,
        seconds: float,
        max_output: int = MAX_OUTPUT,
    ) -> ExecResult:
        """Evaluate bash as root in "/", `stdin` base64-encoded in the file `$stdin`. It bounds its own output."""
        number = next(self._numbers)
        files = {} if stdin is None else {f"{number}.in": base64.b64encode(stdin)}
        code = f'stdin="$dir/{number}.in"\n{wire.enter("/", {})}{code}'
        return await self._run(number, code, files, seconds=seconds, max_output=max_output, bounded=True)

    async def put(self, source: bytes, target_dir: str) -> None:
        await transfer.put(self.script, source, self._absolute(target_dir))

    async def extract(self, archive: str) -> None:
        """Extract a tar that lies in the sandbox over its root."""
        await transfer.extract(self.script, archive, "/")

    async def get(self, path: str, max_bytes: int) -> bytes:
        return await transfer.get(self.script, self._absolute(path), max_bytes)

    async def read(self, path: str, max_bytes: int) -> bytes | None:
        return await transfer.read(self.script, self._absolute(path), max_bytes)

    async def snapshot(self) -> Baseline:
        try:
            lane = await self._lane(ROOT)
            processes = await lane.processes(next(self._numbers))
        except LaneLost as error:
            raise self._gone() from error
        return Baseline(frozenset(process.rpartition(":")[0] for process in processes))

    async def quiesce(self, baseline: Baseline) -> int:
        return await self._control("quiesce", body=" ".join(baseline.processes).encode())

    async def facts(self) -> dict[str, object]:
        facts = await self._enclosure.facts()
        if facts["alive"] and not facts["oom_killed"]:
            # An engine tells of an OOM kill only once the whole container has ended.
            with contextlib.suppress(SandboxError):
                kills = await self.script(_COUNT_OOM_KILLS, seconds=_LAST_WORDS)
                facts["oom_killed"] = kills.stdout.strip() not in {b"", b"0"}
        return facts

    async def usage(self) -> Usage:
        try:
            async with asyncio.timeout(_USAGE_SECONDS):
                return await self._enclosure.usage()
        except (SandboxError, TimeoutError):
            return Usage()

    async def stop(self) -> None:
        self._stopped = True
        for lane in self._lanes.values():
            lane.close()
        await self._enclosure.destroy()

    def _absolute(self, path: str) -> str:
        return posixpath.join(self.workdir, path)

    async def _run(
        self,
        number: int,
        code: str,
        files: dict[str, bytes],
        *,
        lane_user: str = ROOT,
        seconds: float | None,
        max_output: int,
        bounded: bool = False,
    ) -> ExecResult:
        started = time.monotonic()
        body = wire.encode(code)
        if len(body) > wire.FRAME:
            files[f"{number}.code"] = body
            body = f'. "$dir/{number}.code"'.encode()
        lane, run, returncode, timed_out = None, Run(number, max_output, bounded), None, False
        deadline = asyncio.timeout(seconds)
        try:
            async with deadline:
                lane = await self._lane(lane_user)
                lane.begin(run)
                returncode = await lane.run(run, files, body)
        except LaneLost:
            await self._bury(number)
            returncode = KILLED
        except TimeoutError:
            if not deadline.expired():
                raise
            timed_out = True
            await self._bury(number)
            if lane:
                await asyncio.wait({run.returncode}, timeout=_LAST_WORDS)
        except asyncio.CancelledError:
            await asyncio.shield(self._bury(number))
            raise
        finally:
            if lane:
                lane.forget(run)
        return ExecResult(
            returncode=returncode,
            timed_out=timed_out,
            stdout=bytes(run.stdout[:max_output]),
            stderr=bytes(run.stderr[:max_output]),
            truncated=max(len(run.stdout), len(run.stderr)) > max_output,
            seconds=time.monotonic() - started,
        )

    async def _bury(self, number: int) -> None:
        """Kill what is left of a command; raises `sandbox_gone` when there is nothing to kill in any more."""
        await self._control("kill", str(number))

    async def _control(self, op: str, argument: str = "", body: bytes = b"") -> int:
        """Ask the root lane for a kill; once more through a fresh lane when the first is lost."""
        for _ in range(2):
            try:
                lane = await self._lane(ROOT)
                answer = await lane.ask(op, next(self._numbers), argument, body)
                return int(answer.rest)
            except LaneLost:
                continue
        raise self._gone()

    async def _lane(self, user: str) -> Lane:
        async with self._opening.setdefault(user, asyncio.Lock()):
            lane = self._lanes.get(user)
            if self._stopped:
                raise self._gone()
            if lane is None or lane.lost:
                stream = await self._enclosure.connect(user)
                lane = self._lanes[user] = await Lane.open(stream, next(self._numbers))
            return lane

    def _gone(self) -> SandboxError:
        return SandboxError(ErrorKind.SANDBOX_GONE, f"sandbox {self.id} no longer answers; it was removed or died")
