"""What is Docker's own: images, adoption, sweeps, engines that refuse."""

import asyncio
import contextlib
import json
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from proctor.sandbox_runner.failure import Failure
from proctor.sandbox_runner.sandbox import cgroup
from proctor.sandbox_runner.sandbox.docker_backend import DockerBackend
from proctor.sandbox_runner.sandbox.engine import Engine
from proctor.sandbox_runner.sandbox.errors import ErrorKind, SandboxError
from proctor.sandbox_runner.sandbox.images import tag
from proctor.sandbox_runner.sandbox.protocol import Sandbox, SandboxSpec
from proctor.sandbox_runner.users import check_users

type SpecMaker = Callable[..., SandboxSpec]
type Living = Callable[[Sandbox, str], Awaitable[int]]

pytestmark = pytest.mark.docker


async def containers(engine: Engine, installation: str) -> list[str]:
    found = await engine.call("containers", all=True, filters={"label": [f"proctor.installation={installation}"]})
    return [each["Labels"]["proctor.sandbox"] for each in found]


def dockerfile(environment: Path, *lines: str) -> Path:
    (environment / "Dockerfile").write_text("\n".join(("FROM debian:bookworm-slim", *lines)) + "\n")
    return environment


async def test_an_image_is_built_once_for_all_who_wait(
    docker_backend: DockerBackend,
    engine: Engine,
    installation: str,
    make_spec: SpecMaker,
    environment: Path,
    own_digest: str,
) -> None:
    dockerfile(environment, "RUN head -c 32 /dev/urandom >/stamp && sleep 1")
    spec = make_spec(environment_digest=own_digest)
    await asyncio.gather(*(docker_backend.prepare(spec) for _ in range(5)))
    made = await engine.call("images", all=False, filters={"label": [f"proctor.installation={installation}"]})
    assert [image["RepoTags"] for image in made] == [[f"{tag(own_digest)}:latest"]]


async def test_a_caller_that_gives_up_leaves_the_build_to_the_others(
    docker_backend: DockerBackend, engine: Engine, make_spec: SpecMaker, environment: Path, own_digest: str
) -> None:
    dockerfile(environment, "RUN sleep 1.5 && echo 1")
    spec = make_spec(environment_digest=own_digest)
    first, second = (asyncio.create_task(docker_backend.prepare(spec)) for _ in range(2))
    await asyncio.sleep(0.3)
    first.cancel()
    await second


async def test_build_failure_ends_with_the_log(
    docker_backend: DockerBackend, make_spec: SpecMaker, environment: Path, own_digest: str
) -> None:
    dockerfile(environment, "RUN echo telling-output; echo telling-error >&2; exit 9")
    with pytest.raises(SandboxError) as caught:
        await docker_backend.start(make_spec(environment_digest=own_digest))
    assert (caught.value.kind, caught.value.retry) == (ErrorKind.BUILD_FAILED, False)
    for part in ("telling-output", "telling-error", "code: 9"):
        assert part in caught.value.message


async def test_unreadable_dockerfile_is_a_build_failure(
    docker_backend: DockerBackend, make_spec: SpecMaker, environment: Path, own_digest: str
) -> None:
    dockerfile(environment, "FETCH something")
    with pytest.raises(SandboxError, match=r"(?i)fetch") as caught:
        await docker_backend.prepare(make_spec(environment_digest=own_digest))
    assert caught.value.kind is ErrorKind.BUILD_FAILED


async def test_build_timeout_ends_the_build(
    docker_backend: DockerBackend, engine: Engine, make_spec: SpecMaker, environment: Path, own_digest: str
) -> None:
    dockerfile(environment, "RUN echo so-far; sleep 77")
    with pytest.raises(SandboxError, match="so-far") as caught:
        await docker_backend.prepare(make_spec(environment_digest=own_digest, build_timeout=1.5))
    assert caught.value.kind is ErrorKind.BUILD_TIMEOUT
    async with asyncio.timeout(15):
        while any("sleep 77" in each["Command"] for each in await engine.call("containers")):
            await asyncio.sleep(0.1)


async def test_missing_image(docker_backend: DockerBackend, make_spec: SpecMaker) -> None:
    with pytest.raises(SandboxError, match=r"localhost:1/no/such:image") as caught:
        await docker_backend.prepare(make_spec(image="localhost:1/no/such:image", build_timeout=20))
    assert caught.value.kind is ErrorKind.IMAGE_MISSING


async def test_missing_base_image(
    docker_backend: DockerBackend, make_spec: SpecMaker, environment: Path, own_digest: str
) -> None:
    (environment / "Dockerfile").write_text("FROM localhost:1/no/such:image\nRUN true\n")
    with pytest.raises(SandboxError, match="base image") as caught:
        await docker_backend.prepare(make_spec(environment_digest=own_digest))
    assert caught.value.kind is ErrorKind.IMAGE_MISSING


async def test_no_dockerfile(
    docker_backend: DockerBackend, make_spec: SpecMaker, environment: Path, own_digest: str
) -> None:
    (environment / "Dockerfile").unlink()
    with pytest.raises(SandboxError, match="docker_image") as caught:
        await docker_backend.prepare(make_spec(environment_digest=own_digest))
    assert caught.value.kind is ErrorKind.UNSUPPORTED_ENVIRONMENT


async def test_image_without_bash(
    docker_backend: DockerBackend,
    engine: Engine,
    installation: str,
    make_spec: SpecMaker,
    environment: Path,
    own_digest: str,
) -> None:
    (environment / "file").write_text("x")
    (environment / "Dockerfile").write_text("FROM scratch\nCOPY file /file\n")
    with pytest.raises(SandboxError, match="bash") as caught:
        await docker_backend.start(make_spec(environment_digest=own_digest))
    assert caught.value.kind is ErrorKind.UNSUPPORTED_ENVIRONMENT
    assert await containers(engine, installation) == []


async def test_image_settings_hold(
    docker_backend: DockerBackend, make_spec: SpecMaker, environment: Path, own_digest: str
) -> None:
    dockerfile(
        environment,
        "ENV LC_ALL=C.UTF-8 BASH_ENV=/noisy",
        "RUN echo 'echo noise' >/noisy; useradd -m -u 1500 worker",
        "USER worker",
        "WORKDIR /home/worker",
        'ENTRYPOINT ["/bin/false"]',
        "HEALTHCHECK CMD false",
    )
    spec = make_spec(environment_digest=own_digest, env={"A": "b"})
    sandbox = await docker_backend.start(spec)
    result = await sandbox.exec("id -u; echo $HOME $LC_ALL $A; touch here && pwd", timeout=20)
    assert result.stdout == b"noise\n1500\n/home/worker C.UTF-8 b\n/home/worker\n"
    assert (await sandbox.exec("id -u", user="root", timeout=20)).stdout == b"noise\n0\n"
    timed_out = await sandbox.exec("setsid sleep 4321 & sleep 4321", timeout=0.5)
    assert timed_out.timed_out
    left = await sandbox.exec("grep -lz 432[1] /proc/[0-9]*/cmdline", user="root", timeout=20)
    assert left.stdout == b"noise\n"
    await sandbox.stop()


async def test_limits_are_the_containers(
    docker_backend: DockerBackend, engine: Engine, installation: str, make_spec: SpecMaker
) -> None:
    sandbox = await docker_backend.start(make_spec(cpus=0.5, memory_mb=128, pids=99))
    (found,) = await engine.call("containers", filters={"label": [f"proctor.sandbox={sandbox.id}"]})
    host = (await engine.call("inspect_container", found["Id"]))["HostConfig"]
    assert (host["Memory"], host["MemorySwap"], host["PidsLimit"]) == (128 << 20, 128 << 20, 99)
    assert host["CpuQuota"] / host["CpuPeriod"] == 0.5
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert host["CapDrop"] == ["ALL"]
    assert not {"SYS_ADMIN", "NET_RAW", "SYS_PTRACE"} & set(host["CapAdd"])
    assert host["AutoRemove"]
    await sandbox.stop()
    assert await containers(engine, installation) == []


async def test_lifetime_is_the_backstop(
    docker_backend: DockerBackend, engine: Engine, installation: str, make_spec: SpecMaker
) -> None:
    sandbox = await docker_backend.start(make_spec(lifetime=2.0))
    kill_sleeps = "kill $(grep -lz '^sleep' /proc/[0-9]*/cmdline | cut -d/ -f3)"
    assert (await sandbox.exec(kill_sleeps, timeout=20)).returncode == 0
    assert (await sandbox.exec("echo alive", timeout=20)).stdout == b"alive\n"
    async with asyncio.timeout(20):
        while await containers(engine, installation):
            with contextlib.suppress(SandboxError):
                await sandbox.exec(kill_sleeps, timeout=20)
            await asyncio.sleep(0.1)
    await sandbox.stop()


async def test_container_removed_beneath(docker_backend: DockerBackend, engine: Engine, make_spec: SpecMaker) -> None:
    sandbox = await docker_backend.start(make_spec())
    running = asyncio.create_task(sandbox.exec("sleep 60", timeout=None))
    await asyncio.sleep(0.3)
    (found,) = await engine.call("containers", filters={"label": [f"proctor.sandbox={sandbox.id}"]})
    await engine.call("remove_container", found["Id"], force=True)
    for call in (lambda: running, lambda: sandbox.exec("true", timeout=20), sandbox.snapshot):
        with pytest.raises(SandboxError) as caught:
            await call()
        assert caught.value.kind is ErrorKind.SANDBOX_GONE
    assert (await sandbox.facts())["alive"] is False
    await sandbox.stop()


START_AND_TELL = """
import asyncio, json, sys
from pathlib import Path
from proctor.sandbox_runner.sandbox.docker_backend import DockerBackend
from proctor.sandbox_runner.sandbox.engine import Engine
from proctor.sandbox_runner.sandbox.protocol import SandboxSpec

async def main(installation, environment, digest, name):
    backend = DockerBackend(Engine(), installation=installation, host="here")
    spec = SandboxSpec(name, Path(environment), digest, env={"KEPT": "kept"}, network="none", workdir="/srv")
    sandbox = await backend.start(spec)
    await sandbox.exec("echo started >/tmp/state; setsid sleep 999 >/dev/null 2>&1 &", timeout=20)
    print(sandbox.id)
    await asyncio.sleep(60)

asyncio.run(main(%r, %r, %r, %r))
"""


async def test_a_sandbox_of_a_killed_runner_is_adopted(
    docker_backend: DockerBackend,
    installation: str,
    environment: Path,
    killed_runner: Callable[[str], str],
    common_digest: str,
    living: Living,
) -> None:
    name = await asyncio.to_thread(
        killed_runner, START_AND_TELL % (installation, str(environment), common_digest, "adopted")
    )
    assert await docker_backend.adopt("another") is None
    sandbox = await docker_backend.adopt(name)
    assert sandbox
    assert sandbox.id == name
    result = await sandbox.exec("cat /tmp/state; echo $KEPT; pwd", timeout=20)
    assert result.stdout == b"started\nkept\n/srv\n"
    assert (await sandbox.exec("sleep 60", timeout=0.3)).timed_out
    assert await living(sandbox, "sleep 999") == 1
    await sandbox.stop()


async def test_a_sandbox_of_a_killed_runner_is_swept(
    docker_backend: DockerBackend,
    engine: Engine,
    installation: str,
    environment: Path,
    killed_runner: Callable[[str], str],
    common_digest: str,
) -> None:
    name = await asyncio.to_thread(
        killed_runner, START_AND_TELL % (installation, str(environment), common_digest, "swept")
    )
    elsewhere = DockerBackend(engine, installation=installation, host="elsewhere")
    stranger = DockerBackend(engine, installation="another", host="here")
    assert await elsewhere.sweep(()) == await stranger.sweep(()) == []
    assert await docker_backend.sweep({name}) == []
    assert await docker_backend.sweep(()) == [name]
    assert await containers(engine, installation) == []


async def test_cancelled_start_leaves_nothing(
    docker_backend: DockerBackend, engine: Engine, installation: str, make_spec: SpecMaker
) -> None:
    await docker_backend.prepare(make_spec())
    for delay in (0.0, 0.05, 0.2):
        start = asyncio.create_task(docker_backend.start(make_spec()))
        await asyncio.sleep(delay)
        start.cancel()
        with pytest.raises(asyncio.CancelledError):
            await start
    assert await containers(engine, installation) == []


@pytest.mark.parametrize("url", ["unix:///nowhere/docker.sock", "tcp://127.0.0.1:1"])
async def test_no_engine(url: str) -> None:
    with pytest.raises(SandboxError, match="DOCKER_HOST") as caught:
        await Engine(url).connect()
    assert caught.value.kind is ErrorKind.ENGINE_UNAVAILABLE


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_no_permission_names_the_way_out(tmp_path: Path, as_plain_user: Callable[[Callable[[], str]], str]) -> None:
    path = Path("/tmp") / f"proctor-{tmp_path.name[-8:]}.sock"  # the child can't enter pytest's own folders
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    path.chmod(0)
    listener.listen()

    def connect() -> str:
        try:
            asyncio.run(Engine(f"unix://{path}").connect())
        except SandboxError as error:
            return json.dumps([error.kind, error.message, error.retry])
        return "connected"

    try:
        kind, message, retry = json.loads(as_plain_user(connect))
    finally:
        listener.close()
        path.unlink()
    assert (kind, retry) == (ErrorKind.ENGINE_PERMISSION, False)
    assert "group `docker`" in message


async def test_a_user_that_the_image_has_not(docker_backend: DockerBackend, make_spec: SpecMaker) -> None:
    sandbox = await docker_backend.start(make_spec())
    await check_users(sandbox, [(user, "[agent] user") for user in ("nobody", "1234")])
    with pytest.raises(Failure, match="nosuch") as caught:
        await check_users(sandbox, [("nosuch", "[agent] user")])
    assert caught.value.kind == "user_missing"
    await sandbox.stop()


async def test_an_engine_elsewhere_tells_the_usage(
    docker_backend: DockerBackend, make_spec: SpecMaker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cgroup, "_ROOT", tmp_path)
    sandbox = await docker_backend.start(spec := make_spec())
    await sandbox.exec("for ((i = 0; i < 300000; i++)); do :; done", timeout=20)
    told = await sandbox.usage()
    monkeypatch.undo()
    adopted = await docker_backend.adopt(spec.id)
    assert adopted is not None
    here = await adopted.usage()
    await sandbox.stop()
    assert here.cpu_seconds is not None
    assert here.cpu_seconds > 0.1
    assert told.cpu_seconds == pytest.approx(here.cpu_seconds, abs=0.1)
    assert await sandbox.usage() == (None, None)
