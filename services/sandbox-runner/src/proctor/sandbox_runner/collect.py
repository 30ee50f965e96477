"""What is kept of a sandbox: its logs and the files that a task declares as artifacts."""

import io
import posixpath
import tarfile
from collections.abc import Iterable
from typing import Final

from proctor.contracts.events import Artifacts
from proctor.objects import Objects
from proctor.sandbox_runner.archive import merge
from proctor.sandbox_runner.sandbox.errors import ErrorKind, SandboxError
from proctor.sandbox_runner.sandbox.protocol import Sandbox
from proctor.tasks import Task
from proctor.tasks.artifacts import ArtifactConfig

PHASE_BYTES: Final = 256 << 20
"""What one phase may leave in the store; larger is cut, visibly."""


def declared(task: Task, step: int | None) -> list[str]:
    """Absolute or workdir-relative paths, the task's before the step's, each once."""
    entries = list(task.config.artifacts)
    if step is not None:
        entries += task.steps[step].config.artifacts
    sources = (entry.source if isinstance(entry, ArtifactConfig) else entry for entry in entries)
    return list(dict.fromkeys(sources))


async def fetch(sandbox: Sandbox, paths: Iterable[str]) -> tuple[list[tuple[str, bytes]], bool]:
    """(absolute path, tar) of each path that is there, and whether one was too large to take."""
    parts: list[tuple[str, bytes]] = []
    cut = False
    for path in paths:
        absolute = posixpath.join(sandbox.workdir, path)
        try:
            parts.append((absolute, await sandbox.get(absolute, PHASE_BYTES)))
        except FileNotFoundError:
            continue
        except SandboxError as error:
            if error.kind is not ErrorKind.TRANSFER_TOO_LARGE:
                raise
            cut = True
    return parts, cut


async def store(objects: Objects, name: str, parts: list[tuple[str, bytes]], *, cut: bool) -> Artifacts | None:
    """One object of all parts; None when there is not a single file."""
    data, files = merge((prefix.strip("/"), part) for prefix, part in parts)
    if not files and not cut:
        return None
    await objects.put(name, data)
    return Artifacts(object=name, size=len(data), files=files, cut=cut)


def target_folder(path: str, data: bytes) -> str:
    """Where to unpack what `Sandbox.get(path)` gave: into a folder itself, beside a file of that very name."""
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        members = archive.getmembers()
    name = posixpath.basename(path)
    single = len(members) == 1 and members[0].isfile() and members[0].name.removeprefix("./") == name
    return posixpath.dirname(path) or "/" if single else path
