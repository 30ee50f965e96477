from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.sandbox_runner.sandbox.choose import Setting, choose_backend, fallback_reason
from proctor.sandbox_runner.sandbox.docker_backend import DockerBackend
from proctor.sandbox_runner.sandbox.errors import ErrorKind, SandboxError
from proctor.sandbox_runner.sandbox.protocol import SandboxSpec

type SpecMaker = Callable[..., SandboxSpec]

NO_ENGINE = "unix:///nowhere/docker.sock"


@pytest.fixture
def where(tmp_path: Path, installation: str) -> dict[str, Any]:
    return {"installation": installation, "host": "here", "state": tmp_path / "state"}


@pytest.mark.docker
@pytest.mark.parametrize("setting", ["auto", "docker"])
async def test_docker_where_its_engine_answers(where: dict[str, Any], setting: Setting) -> None:
    choice = await choose_backend(setting, **where)
    assert (choice.backend.name, choice.backend.trusted_only) == ("docker", False)
    await choice.backend.close()


async def test_bubblewrap_where_no_engine_answers(where: dict[str, Any]) -> None:
    choice = await choose_backend("auto", **where, engine_url=NO_ENGINE)
    assert (choice.backend.name, choice.backend.trusted_only) == ("bubblewrap", True)
    assert "doesn't answer" in choice.reason
    assert "not for untrusted agents" in choice.reason
    await choice.backend.close()


async def test_bubblewrap_when_asked_for(where: dict[str, Any]) -> None:
    choice = await choose_backend("bubblewrap", **where)
    assert choice.backend.name == "bubblewrap"
    await choice.backend.close()


async def test_docker_asked_for_in_vain(where: dict[str, Any]) -> None:
    with pytest.raises(SandboxError, match="DOCKER_HOST") as caught:
        await choose_backend("docker", **where, engine_url=NO_ENGINE)
    assert caught.value.kind is ErrorKind.ENGINE_UNAVAILABLE


@pytest.mark.docker
async def test_no_fallback_for_an_image_that_can_be_had(docker_backend: DockerBackend, make_spec: SpecMaker) -> None:
    assert await fallback_reason(docker_backend, make_spec()) is None
    assert await fallback_reason(docker_backend, make_spec(image="debian:bookworm-slim")) is None


@pytest.mark.docker
async def test_fallback_for_an_image_that_cannot(docker_backend: DockerBackend, make_spec: SpecMaker) -> None:
    reason = await fallback_reason(docker_backend, make_spec(image="localhost:1/no/such:image"))
    assert reason
    assert "localhost:1/no/such:image" in reason


@pytest.mark.docker
async def test_no_fallback_from_a_broken_build(
    docker_backend: DockerBackend, make_spec: SpecMaker, environment: Path, own_digest: str
) -> None:
    (environment / "Dockerfile").write_text("FROM debian:bookworm-slim\nRUN false\n")
    with pytest.raises(SandboxError) as caught:
        await fallback_reason(docker_backend, make_spec(environment_digest=own_digest))
    assert caught.value.kind is ErrorKind.BUILD_FAILED
