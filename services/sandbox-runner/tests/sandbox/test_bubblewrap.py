"""What is bubblewrap's own: the host it shows, its limits, dying with its runner, plain users."""

import asyncio
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from proctor.sandbox_runner.sandbox.bubblewrap_backend import BubblewrapBackend
from proctor.sandbox_runner.sandbox.errors import ErrorKind, SandboxError
from proctor.sandbox_runner.sandbox.protocol import SandboxSpec

type SpecMaker = Callable[..., SandboxSpec]


def groups() -> set[Path]:
    return {path for path in Path("/sys/fs/cgroup").glob("**/proctor-*/*") if path.is_dir()}


async def test_the_hosts_secrets_and_settings_are_out_of_reach(
    bubblewrap_backend: BubblewrapBackend, make_spec: SpecMaker, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("x")
    sandbox = await bubblewrap_backend.start(make_spec())
    hidden = ["/etc/shadow", "/etc/ssh", "/root/.ssh", "/var/run/docker.sock", str(tmp_path / "secret"), "/sys/kernel"]
    result = await sandbox.exec(f"ls -d {' '.join(hidden)} 2>/dev/null; echo x >/proc/sys/kernel/hostname", timeout=20)
    assert result.stdout == b""
    assert b"Read-only" in result.stderr or b"denied" in result.stderr
    mount = await sandbox.exec("mount -t tmpfs x /mnt || umount /usr", timeout=20)
    assert mount.returncode != 0
    await sandbox.stop()


async def test_writes_stay_in_the_sandbox(bubblewrap_backend: BubblewrapBackend, make_spec: SpecMaker) -> None:
    name = f"proctor-test-{os.getpid()}"
    one, two = [await bubblewrap_backend.start(make_spec()) for _ in range(2)]
    write = await one.exec(f"echo x | tee /usr/local/bin/{name} /opt/{name} /etc/{name} /root/{name}", timeout=20)
    assert write.returncode == 0, write.stderr
    for place in ("/usr/local/bin", "/opt", "/etc", "/root"):
        assert not (Path(place) / name).exists()
        assert (await two.exec(f"test -e {place}/{name}", timeout=20)).returncode == 1
    await asyncio.gather(one.stop(), two.stop())


async def test_one_id_runs_once(bubblewrap_backend: BubblewrapBackend, make_spec: SpecMaker) -> None:
    spec = make_spec()
    sandbox = await bubblewrap_backend.start(spec)
    with pytest.raises(SandboxError, match="runs already"):
        await bubblewrap_backend.start(spec)
    await sandbox.stop()
    await (await bubblewrap_backend.start(spec)).stop()


async def test_nothing_is_left_after_stop(
    bubblewrap_backend: BubblewrapBackend, make_spec: SpecMaker, tmp_path: Path
) -> None:
    await bubblewrap_backend.prepare(make_spec())
    files = set((tmp_path / "state").rglob("*"))
    before, processes = groups(), {process.pid for process in psutil.Process().children(recursive=True)}
    sandbox = await bubblewrap_backend.start(make_spec())
    await sandbox.exec("setsid sleep 999 >/dev/null 2>&1 &", timeout=20)
    await sandbox.stop()
    assert set((tmp_path / "state").rglob("*")) == files
    assert groups() == before
    assert {process.pid for process in psutil.Process().children(recursive=True)} <= processes


async def test_fast_enough_for_many(bubblewrap_backend: BubblewrapBackend, make_spec: SpecMaker) -> None:
    """Far above the target (25 ms), to catch a step that waits."""
    await bubblewrap_backend.prepare(make_spec())
    seconds: list[float] = []
    for _ in range(5):
        started = time.monotonic()
        await (await bubblewrap_backend.start(make_spec())).stop()
        seconds.append(time.monotonic() - started)
    assert min(seconds) < 0.5


async def test_killed_from_outside(bubblewrap_backend: BubblewrapBackend, make_spec: SpecMaker) -> None:
    sandbox = await bubblewrap_backend.start(make_spec())
    running = asyncio.create_task(sandbox.exec("sleep 60", timeout=None))
    await asyncio.sleep(0.3)
    for process in psutil.Process().children():
        if "bwrap" in process.name():
            process.kill()
    for call in (lambda: running, lambda: sandbox.exec("true", timeout=20)):
        with pytest.raises(SandboxError) as caught:
            await call()
        assert caught.value.kind is ErrorKind.SANDBOX_GONE
    await sandbox.stop()


async def test_nothing_of_the_host_can_be_filled_by_way_of_pid_1(
    bubblewrap_backend: BubblewrapBackend, make_spec: SpecMaker
) -> None:
    """A deleted file of the host's would take what is written to it without any limit of the sandbox's."""
    sandbox = await bubblewrap_backend.start(make_spec())
    look = "for each in /proc/1/fd/*; do stat -Lc %F $each; done | sort -u; readlink /proc/1/fd/2"
    found = await sandbox.exec(look, timeout=20)
    assert found.stdout.decode().splitlines() == ["character special file", "fifo", "/dev/null"]
    await sandbox.stop()


def alive(folder: Path) -> list[int]:
    """Processes of bwrap that name the folder."""
    found: list[tuple[int, list[str]]] = [
        (each.pid, each.info["cmdline"] or [""]) for each in psutil.process_iter(["cmdline"])
    ]
    return [pid for pid, words in found if any(str(folder) in word for word in words) and "bwrap" in words[0]]


async def test_a_start_that_is_cancelled_at_any_moment_leaves_nothing(
    bubblewrap_backend: BubblewrapBackend, make_spec: SpecMaker, tmp_path: Path
) -> None:
    await bubblewrap_backend.prepare(make_spec())
    for step in range(60):
        starts = [asyncio.create_task(bubblewrap_backend.start(make_spec())) for _ in range(16)]
        await asyncio.sleep(step * 0.001)
        for start in starts:
            start.cancel()
        for made in await asyncio.gather(*starts, return_exceptions=True):
            if not isinstance(made, BaseException):
                await made.stop()
    assert alive(tmp_path / "state") == []


START_FOR_EVER = """
import asyncio, itertools
from pathlib import Path
from proctor.sandbox_runner.sandbox.bubblewrap_backend import BubblewrapBackend
from proctor.sandbox_runner.sandbox.protocol import SandboxSpec

async def main(state, environment):
    backend = BubblewrapBackend(Path(state))
    async def again(lane):
        for number in itertools.count():
            spec = SandboxSpec(f"s-{lane}-{number}", Path(environment), "ab" * 32, network="none")
            await (await backend.start(spec)).stop()
            if lane == number == 0:
                print("started", flush=True)
    await asyncio.gather(*map(again, range(4)))

asyncio.run(main(%r, %r))
"""


async def test_what_a_runner_left_that_was_killed_while_it_started_sandboxes_is_swept(
    bubblewrap_backend: BubblewrapBackend, environment: Path, tmp_path: Path, killed_runner: Callable[[str], str]
) -> None:
    code = START_FOR_EVER % (str(tmp_path / "state"), str(environment))
    for _ in range(5):
        await asyncio.to_thread(killed_runner, code)
    await bubblewrap_backend.sweep(())
    async with asyncio.timeout(5):
        while alive(tmp_path / "state"):
            await asyncio.sleep(0.05)


START_AND_TELL = """
import asyncio
from pathlib import Path
from proctor.sandbox_runner.sandbox.bubblewrap_backend import BubblewrapBackend
from proctor.sandbox_runner.sandbox.protocol import SandboxSpec

async def main(state, environment, name):
    backend = BubblewrapBackend(Path(state))
    sandbox = await backend.start(SandboxSpec(name, Path(environment), "ab" * 32, network="none"))
    await sandbox.exec("setsid sleep 87654 >/dev/null 2>&1 &", timeout=20)
    print(sandbox.id)
    await asyncio.sleep(60)

asyncio.run(main(%r, %r, %r))
"""


async def test_a_killed_runner_leaves_no_process_and_the_sweep_removes_the_rest(
    bubblewrap_backend: BubblewrapBackend, environment: Path, tmp_path: Path, killed_runner: Callable[[str], str]
) -> None:
    code = START_AND_TELL % (str(tmp_path / "state"), str(environment), "swept")
    name = await asyncio.to_thread(killed_runner, code)
    async with asyncio.timeout(5):
        while any("87654" in each.info["cmdline"] for each in psutil.process_iter(["cmdline"]) if each.info["cmdline"]):
            await asyncio.sleep(0.05)
    left = {path.name for path in groups()}
    assert await bubblewrap_backend.adopt(name) is None
    swept = await bubblewrap_backend.sweep(())
    assert swept == ([name] if name in left else [])
    assert not {path for path in groups() if path.name == name}


async def test_an_engine_task_is_refused_with_its_instruction(
    bubblewrap_backend: BubblewrapBackend, make_spec: SpecMaker, environment: Path
) -> None:
    (environment / "Dockerfile").write_text("FROM debian\nRUN apt-get update\n")
    with pytest.raises(SandboxError, match="line 2: RUN") as caught:
        await bubblewrap_backend.start(make_spec())
    assert caught.value.kind is ErrorKind.UNSUPPORTED_ENVIRONMENT


async def test_a_task_of_an_image_alone_is_refused(
    bubblewrap_backend: BubblewrapBackend, make_spec: SpecMaker, environment: Path
) -> None:
    (environment / "Dockerfile").unlink()
    with pytest.raises(SandboxError, match="example/image") as caught:
        await bubblewrap_backend.start(make_spec(image="example/image:1"))
    assert caught.value.kind is ErrorKind.UNSUPPORTED_ENVIRONMENT


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_plain_user_has_the_same_sandbox(as_plain_user: Callable[[Callable[[], str]], str]) -> None:
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    (folder / "environment").mkdir()
    (folder / "environment" / "a.txt").write_text("alpha")
    (folder / "environment" / "Dockerfile").write_text("FROM x\nWORKDIR /app\nCOPY a.txt .\n")

    async def work() -> dict[str, object]:
        backend = BubblewrapBackend(folder / "state")
        spec = SandboxSpec("plain", folder / "environment", "ab" * 32, network="none", pids=200, disk_mb=16)
        sandbox = await backend.start(spec)
        said = await sandbox.exec("cat a.txt; id -u; touch /app/x /root/x; ls /etc/shadow; exit 5", timeout=20)
        bomb = await sandbox.exec("bomb() { bomb | bomb & }; bomb; sleep 60", timeout=1.5)
        full = await sandbox.exec("dd if=/dev/zero of=/tmp/big bs=1M count=60; rm /tmp/big", timeout=20)
        alive = await sandbox.exec("echo alive", timeout=20)
        try:
            await sandbox.exec("true", user="nobody", timeout=20)
            user = "accepted"
        except SandboxError as error:
            user = error.kind
        await sandbox.stop()
        await backend.close()
        return {
            "said": [said.returncode, said.stdout.decode()],
            "bomb": bomb.timed_out,
            "full": b"No space left" in full.stderr,
            "alive": alive.stdout.decode(),
            "user": user,
        }

    try:
        answer = as_plain_user(lambda: json.dumps(asyncio.run(work())))
    finally:
        shutil.rmtree(folder)
    assert json.loads(answer) == {
        "said": [5, "alpha0\n"],
        "bomb": True,
        "full": True,
        "alive": "alive\n",
        "user": "unsupported_environment",
    }
