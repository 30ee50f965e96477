"""The platform without its gateway: a bus of its own and the four services that run an attempt, as processes."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Generator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nats.aio.client import Client

from proctor.eventlog import connect, ensure_streams

SERVICES = ("registry_sync", "scheduler", "sandbox_runner", "grader")
CAPACITY = 8


@dataclass(frozen=True, slots=True)
class Pieces:
    connection: Client
    folder: Path
    processes: Mapping[str, subprocess.Popen[bytes]]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.asynccontextmanager
async def bus(folder: Path) -> AsyncGenerator[tuple[Client, str, subprocess.Popen[bytes]]]:
    """A server that syncs every write to disk, as in production."""
    port = free_port()
    config = folder / "nats.conf"
    config.write_text(f'listen: "127.0.0.1:{port}"\njetstream {{ store_dir: "{folder}", sync_interval: always }}\n')
    server = subprocess.Popen([Path(sys.executable).with_name("nats-server"), "-c", config, "-l", folder / "nats.log"])
    url = f"nats://127.0.0.1:{port}"
    try:
        connection = await connect(url, "bench")
        await ensure_streams(connection)
        try:
            yield connection, url, server
        finally:
            await connection.close()
    finally:
        server.kill()
        server.wait()


@contextlib.asynccontextmanager
async def platform(backend: str) -> AsyncGenerator[Pieces]:
    """What the services say is in `<folder>/<service>.log`."""
    with tempfile.TemporaryDirectory(prefix="proctor-bench-") as place:
        folder = Path(place)
        async with bus(folder) as (connection, url, server):
            env = {
                **os.environ,
                "PROCTOR_NATS_URL": url,
                "PROCTOR_HOME": place,
                "PROCTOR_BACKEND": backend,
                "PROCTOR_INSTALLATION": folder.name,
                "PROCTOR_RUNNER_CAPACITY": str(CAPACITY),
                "PROCTOR_SUPERVISED": "1",
            }
            with services(SERVICES, env, folder) as processes:
                yield Pieces(connection, folder, {**processes, "nats": server})


@contextlib.contextmanager
def services(
    names: Iterable[str], env: Mapping[str, str], folder: Path
) -> Generator[Mapping[str, subprocess.Popen[bytes]]]:
    """What they say is in `<folder>/<service>.log`."""
    processes = {name: _start(name, env, folder) for name in names}
    try:
        yield processes
    finally:
        _stop(processes)


def _start(name: str, env: Mapping[str, str], folder: Path) -> subprocess.Popen[bytes]:
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen([sys.executable, "-m", f"proctor.{name}"], env=env, stdout=log, stderr=log)


def _stop(processes: Mapping[str, subprocess.Popen[bytes]]) -> None:
    for process in processes.values():
        process.send_signal(signal.SIGTERM)
    for process in processes.values():
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
