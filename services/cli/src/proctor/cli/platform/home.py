"""The folder an installation lives in: what is where, who holds it, and whether it can be used at all."""

import contextlib
import errno
import fcntl
import json
import os
import pwd
import shutil
from collections.abc import Generator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from proctor.cli.failure import Failure

NEEDED_BYTES: Final = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Home:
    """`root` is absolute. Everything below is private to its owner."""

    root: Path

    @property
    def token(self) -> Path:
        return self.root / "token"

    @property
    def nats(self) -> Path:
        return self.root / "nats"

    @property
    def postgres(self) -> Path:
        return self.root / "postgres"

    @property
    def run(self) -> Path:
        return self.root / "run"

    @property
    def lock(self) -> Path:
        return self.run / "lock"

    @property
    def running(self) -> Path:
        return self.run / "platform.json"

    def log(self, name: str) -> Path:
        return self.root / "logs" / f"{name}.log"

    def ready(self, name: str) -> Path:
        return self.run / f"{name}.ready"

    def pid(self, name: str) -> Path:
        return self.run / f"{name}.pid"


@dataclass(frozen=True, slots=True)
class Running:
    """How to reach the platform that holds a home. The addresses hold passwords: the file is for its owner only."""

    pid: int
    url: str
    nats_url: str
    database_url: str


def open_home(path: Path, *, needed_bytes: int = NEEDED_BYTES) -> Home:
    """Make the folders. Raises Failure when the place can't be written or has too little room."""
    home = Home(Path(os.path.abspath(path.expanduser())))  # noqa: PTH100 - resolve() would follow a chosen symlink
    try:
        home.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        for folder in (home.nats, home.run, home.root / "logs"):
            folder.mkdir(exist_ok=True, mode=0o700)
        home.lock.touch(mode=0o600)
    except OSError as error:
        raise Failure(_cannot_use(home.root, error)) from error
    free = shutil.disk_usage(home.root).free
    if free < needed_bytes:
        raise Failure(
            f"{home.root} has {free // 2**20} MiB free, Proctor needs {needed_bytes // 2**20} MiB: "
            "make room or choose another folder with --home"
        )
    return home


def _cannot_use(root: Path, error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return f"no space left for {root}: make room or choose another folder with --home"
    file = next((place for place in (root, *root.parents) if place.exists() and not place.is_dir()), None)
    why = f"{file} is a file" if file else f"it belongs to {other}" if (other := owner(root)) else error.strerror
    return f"can't write to {root} ({why}): choose another folder with --home or PROCTOR_HOME"


def owner(root: Path) -> str | None:
    """Whose folder it is, or is in, when it is another's and closed to us."""
    place = next(place for place in (root, *root.parents) if place.exists())
    user = place.stat().st_uid
    if user == os.geteuid() or os.access(place, os.R_OK | os.X_OK):
        return None
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"


@contextlib.contextmanager
def held(home: Home) -> Generator[None]:
    """Hold the home for this process alone; the kernel lets go when the process dies, however it dies."""
    with home.lock.open("r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failure(_holder(home, file.read().strip())) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        try:
            yield
        finally:
            home.running.unlink(missing_ok=True)
            file.truncate(0)


def _holder(home: Home, pid: str) -> str:
    running = read_running(home)
    where = f" at {running.url}" if running else ""
    return (
        f"{home.root} is in use by another Proctor (process {pid or 'unknown'}{where}): "
        "stop it, or choose another folder with --home"
    )


def write_running(home: Home, running: Running) -> None:
    write_private(home.running, json.dumps(asdict(running)))


def read_running(home: Home) -> Running | None:
    """None when no platform runs there, or one is just starting or was killed."""
    try:
        running = Running(**json.loads(home.running.read_text()))
    except (OSError, ValueError, TypeError):
        return None
    return running if Path(f"/proc/{running.pid}").exists() else None


def write_private(path: Path, text: str) -> None:
    """Whole or not at all, and never readable for others, not even for a moment."""
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    part.replace(path)
