"""The next free name for a runner of this machine."""

import fcntl
import os
from itertools import count
from pathlib import Path

from proctor.cli.failure import Failure
from proctor.service.identity import NameTakenError, claim_identity


def take_name(home: Path, host: str) -> str:
    """`runner-1`, or the first number that nobody has. It is this process's until it ends, also after an exec: of two
    that start at once neither finds the other's name free. Raises Failure when the home can't be written."""
    folder = home / "runner-names"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return next(name for number in count(1) if _take(folder, name := f"runner-{number}", home, host))
    except OSError as error:
        raise Failure(f"can't write to {home} ({error.strerror}): choose another folder with --home") from error


def _take(folder: Path, name: str, home: Path, host: str) -> bool:
    place = os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        claim_identity(home, "runner", name, host).lock.close()
    except (BlockingIOError, NameTakenError):
        os.close(place)
        return False
    os.set_inheritable(place, True)
    return True
