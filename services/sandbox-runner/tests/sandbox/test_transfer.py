import io
import os
import tarfile
from collections.abc import Callable

import pytest

from proctor.sandbox_runner.sandbox.bubblewrap_backend import BubblewrapBackend
from proctor.sandbox_runner.sandbox.errors import ErrorKind, SandboxError
from proctor.sandbox_runner.sandbox.protocol import Sandbox, SandboxSpec

type SpecMaker = Callable[..., SandboxSpec]


def tar_of(files: dict[str, bytes], mode: int = 0o644) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.uid = len(content), mode, 1234
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def files_of(data: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return {
            os.path.normpath(member.name): file.read()
            for member in tar
            if member.isreg() and (file := tar.extractfile(member))
        }


@pytest.mark.parametrize("size", [0, 1, 70_000, 9 << 20])
async def test_round_trip(sandbox: Sandbox, size: int) -> None:
    files = {"a b/ü.bin": os.urandom(size), "empty": b"", "deep/er/x": bytes(range(256))}
    await sandbox.put(tar_of(files), "/new/place")
    assert files_of(await sandbox.get("/new/place", 64 << 20)) == files


async def test_put_keeps_modes_and_gives_files_to_root(sandbox: Sandbox) -> None:
    await sandbox.put(tar_of({"run": b"#!/bin/bash\necho ran"}, 0o755), "/tests")
    result = await sandbox.exec("/tests/run; stat -c %u /tests/run; ls -A /tmp", timeout=20)
    assert result.stdout == b"ran\n0\n"


async def test_get_of_one_file(sandbox: Sandbox) -> None:
    await sandbox.exec("echo hello >/logs/agent/trajectory.json", timeout=20)
    assert files_of(await sandbox.get("/logs/agent/trajectory.json", 1 << 20)) == {"trajectory.json": b"hello\n"}


async def test_get_of_nothing(sandbox: Sandbox) -> None:
    with pytest.raises(FileNotFoundError):
        await sandbox.get("/not/there", 1 << 20)


@pytest.mark.parametrize("limit", [100_000, 6 << 20])
async def test_get_is_bounded(sandbox: Sandbox, limit: int) -> None:
    await sandbox.exec("mkdir /big; truncate -s 30M /big/sparse", timeout=20)
    with pytest.raises(SandboxError) as caught:
        await sandbox.get("/big", limit)
    assert caught.value.kind is ErrorKind.TRANSFER_TOO_LARGE


async def test_read(sandbox: Sandbox) -> None:
    await sandbox.exec("printf '\\377\\0reward' >/logs/verifier/reward.txt; mkfifo /logs/verifier/fifo", timeout=20)
    assert await sandbox.read("/logs/verifier/reward.txt", 100) == b"\xff\0reward"
    assert await sandbox.read("/logs/verifier/none", 100) is None
    assert await sandbox.read("/logs/verifier/fifo", 100) is None
    assert await sandbox.read("/logs/verifier", 100) is None
    with pytest.raises(SandboxError) as caught:
        await sandbox.read("/logs/verifier/reward.txt", 7)
    assert caught.value.kind is ErrorKind.TRANSFER_TOO_LARGE


async def test_put_onto_a_full_disk(bubblewrap_backend: BubblewrapBackend, make_spec: SpecMaker) -> None:
    sandbox = await bubblewrap_backend.start(make_spec(disk_mb=4))
    with pytest.raises(SandboxError) as caught:
        await sandbox.put(tar_of({"big": os.urandom(8 << 20)}), "/app")
    assert caught.value.kind is ErrorKind.DISK_FULL
    await sandbox.stop()


async def test_a_broken_tar_is_said(sandbox: Sandbox) -> None:
    with pytest.raises(SandboxError, match="put into /app"):
        await sandbox.put(b"this is no tar" * 100, "/app")
