"""What is kept of a sandbox."""

import io
import tarfile
import uuid
from collections.abc import Callable

import pytest
from nats.aio.client import Client

from proctor.objects import Objects
from proctor.objects.tars import list_members
from proctor.sandbox_runner.collect import Part, declared, fetch, fetch_phase, store
from proctor.sandbox_runner.sandbox.protocol import Sandbox
from proctor.tasks import Task

SETUP = """
mkdir -p out/sub /logs/artifacts
echo a >report.txt; echo b >out/b; echo c >out/sub/c; echo d >/logs/artifacts/d
ln -s /etc/passwd out/link; mkfifo out/pipe; mkdir alone; echo e >alone/alone
head -c 3000000 /dev/urandom >large; truncate -s 1T sparse
"""


async def kept(bus: Client, box: Sandbox, paths: list[str], limit: int = 1 << 20) -> tuple[dict[str, bytes], bool]:
    """The stored files of the paths, and whether it is marked as cut."""
    assert (await box.exec(SETUP, timeout=20)).returncode == 0
    parts, cut = await fetch(box, paths, limit)
    objects, name = Objects(bus), f"test/{uuid.uuid4().hex}"
    stored = await store(objects, name, parts, cut=cut)
    assert stored is not None
    data = await objects.get(name)
    assert stored.size == len(data)
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        members = archive.getmembers()
        assert all(member.isfile() or member.isdir() for member in members)
        files = {member.name: archive.extractfile(member) for member in members if member.isfile()}
    assert stored.files == len(files)
    return {name: file.read() if file else b"" for name, file in files.items()}, stored.cut


async def test_files_and_folders_keep_their_paths(bus: Client, box: Sandbox) -> None:
    paths = ["report.txt", "/app/out", "alone", "./out/", "missing", "/logs/artifacts", "/logs/artifacts/d"]
    assert await kept(bus, box, paths) == (
        {
            "app/report.txt": b"a\n",
            "app/out/b": b"b\n",
            "app/out/sub/c": b"c\n",
            "app/alone/alone": b"e\n",
            "logs/artifacts/d": b"d\n",
        },
        False,
    )


async def test_what_is_too_large_is_left_out_visibly(bus: Client, box: Sandbox) -> None:
    for path in ("large", "sparse", "/app"):
        assert await kept(bus, box, ["report.txt", path, "alone"]) == (
            {"app/report.txt": b"a\n", "app/alone/alone": b"e\n"},
            True,
        )


async def test_the_limit_is_for_all_paths_together(bus: Client, box: Sandbox) -> None:
    await box.exec("for n in 1 2 3; do head -c 300000 /dev/zero >z$n; done", timeout=20)
    files, cut = await kept(bus, box, ["z1", "z2", "z3", "report.txt"], limit=700_000)
    assert (sorted(files), cut) == (["app/report.txt", "app/z1", "app/z2"], True)


@pytest.mark.parametrize(("size", "folders"), [(10, ["/logs"]), (5 << 20, ["/logs/agent", "/logs/artifacts"])])
async def test_logs_come_at_once_or_apart(bus: Client, box: Sandbox, size: int, folders: list[str]) -> None:
    await box.exec(f"truncate -s {size} /logs/agent/log; echo d >/logs/artifacts/d; echo r >report.txt", timeout=9)
    parts, cut = await fetch_phase(box, ["report.txt", "/logs/artifacts/d"])
    assert ([part.folder for part in parts], cut) == ([*folders, "/app", "/logs/artifacts"], False)
    assert await stored_files(bus, parts) == ["app/report.txt", "logs/agent/log", "logs/artifacts/d"]


async def test_logs_too_large_leave_the_rest(bus: Client, box: Sandbox) -> None:
    await box.exec("truncate -s 6M /logs/agent/log; echo d >/logs/artifacts/d", timeout=9)
    parts, cut = await fetch_phase(box, [], limit=5 << 20)
    assert (await stored_files(bus, parts), cut) == (["logs/artifacts/d"], True)


async def stored_files(bus: Client, parts: list[Part]) -> list[str]:
    objects, name = Objects(bus), f"test/{uuid.uuid4().hex}"
    await store(objects, name, parts, cut=False)
    return [member.path for member in list_members(await objects.get(name))]


async def test_a_sandbox_that_lies_about_its_tars(bus: Client, box: Sandbox) -> None:
    """The agent was root, and put its own tar in place."""
    await box.exec(
        "printf '#!/bin/bash\\necho nonsense\\n' >/usr/bin/tar.new; mv /usr/bin/tar.new /usr/bin/tar", timeout=9
    )
    await box.exec("chmod +x /usr/bin/tar", timeout=9)
    parts, cut = await fetch(box, ["report.txt", "/logs/artifacts"])
    stored = await store(Objects(bus), f"test/{uuid.uuid4().hex}", parts, cut=cut)
    assert stored is not None
    assert (stored.files, stored.cut) == (0, True)


async def test_a_tar_that_fails(box: Sandbox) -> None:
    await box.exec("printf '#!/bin/bash\\nexit 5\\n' >/usr/bin/tar; chmod +x /usr/bin/tar", timeout=9)
    assert await fetch(box, ["/logs/artifacts"]) == ([], True)


async def test_nothing_there_is_nothing_stored(bus: Client, box: Sandbox) -> None:
    parts, cut = await fetch(box, ["/logs/agent", "missing"])
    assert await store(Objects(bus), "test/none", parts, cut=cut) is None


def test_declared_paths_come_once(a_task: Callable[..., Task]) -> None:
    toml = """artifacts = ["a", { source = "/b" }]
[[steps]]
name = "one"
artifacts = ["c", "a"]
"""
    task = a_task({"instruction.md": None, "steps/one/instruction.md": "x\n"}, toml=toml)
    assert declared(task, None) == ["a", "/b"]
    assert declared(task, 0) == ["a", "/b", "c"]
