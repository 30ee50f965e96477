"""Who a worker is: a name that survives its restart, and an incarnation that doesn't."""

import fcntl
import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from proctor.contracts.ids import short_id
from proctor.service.errors import Conflicting


class NameTakenError(Conflicting):
    """Another process on this home goes by the name."""


@dataclass(frozen=True, slots=True)
class Identity:
    """`lock` is held for the life of the process. `folder` is the worker's own, below the home."""

    worker: str
    incarnation: str
    folder: Path
    lock: IO[bytes]


def claim_identity(home: Path, role: str, name: str, host: str) -> Identity:
    """`<name>-<host>`, as one subject token. Raises `NameTakenError` when it runs already."""
    worker = re.sub(r"[^A-Za-z0-9_-]", "-", f"{name}-{host}")[:100]
    folder = home / role / worker
    folder.mkdir(parents=True, exist_ok=True)
    lock = (folder / "lock").open("ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise NameTakenError(
            f"a {role} named {name!r} runs already on {folder}: give this one another --name or stop that one"
        ) from None
    return Identity(worker, short_id(), folder, lock)


@contextmanager
def free_folder(folder: Path) -> Generator[bool]:
    """Whether the worker of a folder has ended; while it has, no new one can take its place."""
    try:
        lock = (folder / "lock").open("ab")
    except OSError:
        yield False
        return
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
