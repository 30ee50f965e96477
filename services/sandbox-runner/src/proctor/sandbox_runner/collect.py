"""What is kept of a sandbox: its logs and the files that a task declares as artifacts."""

import asyncio
import posixpath
from collections.abc import Iterable
from typing import Final, NamedTuple

from proctor.contracts.events import Artifacts
from proctor.objects import Objects
from proctor.sandbox_runner.archive import is_file, merge
from proctor.sandbox_runner.sandbox.errors import ErrorKind, SandboxError
from proctor.sandbox_runner.sandbox.protocol import Sandbox
from proctor.tasks import Task
from proctor.tasks.artifacts import ArtifactConfig

PHASE_BYTES: Final = 256 << 20
"""What one phase may leave in the store; a path that doesn't fit any more is left out, visibly."""

LOGS: Final = ("/logs/agent", "/logs/artifacts")
_AT_ONCE_BYTES: Final = 4 << 20
_LEFT_OUT: Final = frozenset({ErrorKind.TRANSFER_TOO_LARGE, ErrorKind.TRANSFER_FAILED, ErrorKind.DISK_FULL})


class Part(NamedTuple):
    """`tar` unpacks into `folder`. It is as the sandbox gave it: hostile."""

    folder: str
    tar: bytes


def declared(task: Task, step: int | None) -> list[str]:
    """Absolute or workdir-relative paths, the task's before the step's, each once."""
    entries = list(task.config.artifacts)
    if step is not None:
        entries += task.steps[step].config.artifacts
    sources = (entry.source if isinstance(entry, ArtifactConfig) else entry for entry in entries)
    return list(dict.fromkeys(sources))


async def fetch(
    sandbox: Sandbox, paths: Iterable[str], limit: int = PHASE_BYTES, *, until: float | None = None
) -> tuple[list[Part], bool]:
    """What is there of the paths, `limit` bytes in all, and whether some of it was too large, couldn't be read or
    wasn't there at `until`, a time of the event loop."""
    parts: list[Part] = []
    cut = False
    for path in paths:
        absolute = posixpath.normpath(posixpath.join(sandbox.workdir, path))
        deadline = asyncio.timeout_at(until)
        try:
            async with deadline:
                tar = await sandbox.get(absolute, limit)
        except FileNotFoundError:
            continue
        except SandboxError as error:
            if error.kind not in _LEFT_OUT:
                raise
            cut = True
        except TimeoutError:
            if not deadline.expired():
                raise
            cut = True
        else:
            limit -= len(tar)
            folder, name = posixpath.split(absolute)
            parts.append(Part(folder if is_file(tar, name) else absolute, tar))
    return parts, cut


async def fetch_phase(
    sandbox: Sandbox, declared: Iterable[str], limit: int = PHASE_BYTES, *, seconds: float | None = None
) -> tuple[list[Part], bool]:
    """What an agent phase leaves: its logs and the declared paths. Logs are mostly small enough to come at once."""
    until = None if seconds is None else asyncio.get_running_loop().time() + seconds
    logs, large = await fetch(sandbox, ["/logs"], _AT_ONCE_BYTES, until=until)
    if large:
        return await fetch(sandbox, [*LOGS, *declared], limit, until=until)
    parts, cut = await fetch(sandbox, declared, limit - sum(len(part.tar) for part in logs), until=until)
    return logs + parts, cut


async def store(objects: Objects, name: str, parts: Iterable[Part], *, cut: bool) -> Artifacts | None:
    """One object of all parts; None when there is not a single file."""
    merged = await asyncio.to_thread(merge, [(part.folder, part.tar) for part in parts])
    cut = cut or not merged.whole
    if not merged.files and not cut:
        return None
    await objects.put(name, merged.data)
    return Artifacts(object=name, size=len(merged.data), files=merged.files, cut=cut)
