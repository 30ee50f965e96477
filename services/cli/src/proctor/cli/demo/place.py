"""Where a demonstration keeps its data: a folder of its own, until the next one."""

import contextlib
import fcntl
import shutil
import tempfile
from pathlib import Path
from typing import Final

from proctor.cli.failure import Failure
from proctor.cli.platform.home import Home

PREFIX: Final = "demo-"


def new_place(parent: Path) -> Path:
    """A fresh folder below `parent`; those that earlier demonstrations left there are removed, unless one runs."""
    try:
        parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        for old in parent.glob(f"{PREFIX}*"):
            _remove(old)
        return Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    except OSError as error:
        raise Failure(f"can't write to {parent} ({error.strerror}): choose another folder with --home") from error


def _remove(place: Path) -> None:
    with contextlib.suppress(OSError), Home(place).lock.open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(place, ignore_errors=True)
