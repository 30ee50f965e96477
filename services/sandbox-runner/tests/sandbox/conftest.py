import os
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from proctor.sandbox_runner.sandbox.bubblewrap_backend import BubblewrapBackend
from proctor.sandbox_runner.sandbox.docker_backend import DockerBackend
from proctor.sandbox_runner.sandbox.engine import Engine
from proctor.sandbox_runner.sandbox.images import tag
from proctor.sandbox_runner.sandbox.protocol import Backend, Sandbox, SandboxSpec

BASE_IMAGE_SCRIPT = Path(__file__).parents[4] / "deploy" / "base-image.sh"

type SpecMaker = Callable[..., SandboxSpec]


@pytest.fixture(scope="session")
def base_image() -> str:
    done = subprocess.run(["bash", str(BASE_IMAGE_SCRIPT)], capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stdout + done.stderr
    return "debian:bookworm-slim"


@pytest.fixture
def installation() -> str:
    return f"test-{uuid.uuid4().hex[:10]}"


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    engine = Engine()
    yield engine
    await engine.close()


@pytest.fixture(scope="session")
def common_digest() -> Iterator[str]:
    """The digest of the environment that most tests use, so that its image is built once a session."""
    digest = uuid.uuid4().hex * 2
    yield f"sha256:{digest}"
    subprocess.run(["docker", "rmi", "-f", tag(digest)], capture_output=True, check=False)


@pytest.fixture
def own_digest() -> str:
    return f"sha256:{uuid.uuid4().hex * 2}"


@pytest.fixture
async def docker_backend(
    base_image: str, installation: str, engine: Engine, common_digest: str
) -> AsyncIterator[DockerBackend]:
    backend = DockerBackend(Engine(), installation=installation, host="here")
    yield backend
    await backend.sweep(())
    await backend.close()
    ours = {"label": [f"proctor.installation={installation}"]}
    for image in await engine.call("images", filters=ours):
        if f"{tag(common_digest)}:latest" not in image["RepoTags"]:
            await engine.call("remove_image", image["Id"], force=True)


@pytest.fixture
async def bubblewrap_backend(tmp_path: Path) -> AsyncIterator[BubblewrapBackend]:
    backend = BubblewrapBackend(tmp_path / "state")
    yield backend
    await backend.close()


@pytest.fixture(params=[pytest.param("docker", marks=pytest.mark.docker), "bubblewrap"])
def backend(request: pytest.FixtureRequest) -> Backend:
    """Each back end in turn; the contract is one."""
    return request.getfixturevalue(f"{request.param}_backend")


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    folder = tmp_path / "environment"
    folder.mkdir()
    (folder / "Dockerfile").write_text("FROM debian:bookworm-slim\nWORKDIR /app\nENV FROM_IMAGE=yes\n")
    return folder


@pytest.fixture
def make_spec(environment: Path, common_digest: str) -> SpecMaker:
    """A spec with small limits; every test has its own id, and the default environment one digest."""

    def make(**changes: Any) -> SandboxSpec:
        settings: dict[str, Any] = {
            "id": f"s-{uuid.uuid4().hex[:10]}",
            "environment": environment,
            "environment_digest": common_digest,
            "network": "none",
            "memory_mb": 256,
            "disk_mb": 64,
            "pids": 256,
            "lifetime": 300.0,
        }
        return SandboxSpec(**(settings | changes))

    return make


@pytest.fixture
async def sandbox(backend: Backend, make_spec: SpecMaker) -> AsyncIterator[Sandbox]:
    sandbox = await backend.start(make_spec())
    yield sandbox
    await sandbox.stop()


@pytest.fixture
def living() -> Callable[[Sandbox, str], Awaitable[int]]:
    """How many processes in a sandbox have this text in their command line."""

    async def count(sandbox: Sandbox, text: str) -> int:
        pattern = f"[{text[0]}]{text[1:]}"
        loop = r"for each in /proc/[0-9]*/cmdline; do { tr '\0' ' ' <$each; echo; } 2>/dev/null; done"
        result = await sandbox.exec(f"{loop} | grep -c '{pattern}'", timeout=20)
        return int(result.stdout)

    return count


@pytest.fixture
def as_plain_user() -> Callable[[Callable[[], str]], str]:
    """Run a function in a child without root's rights, and return what it returns or raises."""

    def run(function: Callable[[], str]) -> str:
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                if os.geteuid() == 0:
                    os.setgroups([])
                    os.setgid(65534)
                    os.setuid(65534)
                said = function()
            except BaseException as error:  # noqa: BLE001 - the child tells its parent and ends
                said = f"{type(error).__name__}: {error}"
            os.write(write_end, said.encode()[:60_000])
            os._exit(0)
        os.close(write_end)
        with os.fdopen(read_end) as answer:
            text = answer.read()
        os.waitpid(child, 0)
        return text

    return run


@pytest.fixture
def killed_runner(tmp_path: Path) -> Callable[[str], str]:
    """Start a sandbox in another process, kill that process with SIGKILL; the sandbox's id is returned."""

    def run(code: str) -> str:
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
        )
        assert process.stdout
        said = process.stdout.readline().strip()
        process.kill()
        process.wait()
        return said

    return run
