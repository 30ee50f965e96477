"""Packed files against what Docker itself makes of the same Dockerfile."""

import io
import posixpath
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.sandbox_runner.sandbox import dockerfile, layer
from proctor.sandbox_runner.sandbox.docker_backend import DockerBackend
from proctor.sandbox_runner.sandbox.errors import ErrorKind, SandboxError
from proctor.sandbox_runner.sandbox.protocol import SandboxSpec

type SpecMaker = Callable[..., SandboxSpec]

CASES = [
    "COPY . .",
    "COPY . /app/all/",
    "COPY a.txt b.txt",
    "COPY a.txt /app",
    "COPY a.txt new/",
    "COPY a.txt new/deep/name",
    "COPY a.txt c.md there/",
    "COPY *.txt texts/",
    "COPY a.* single",
    "COPY sub sub2",
    "COPY sub/ .",
    "COPY sub sub/inner merged/",
    "COPY ./sub/inner /app/x",
    "COPY run.sh .\nCOPY a.txt run.sh",
    "COPY sub /app/kept\nWORKDIR /app/kept\nCOPY a.txt .",
    'COPY ["with space.txt", "./"]',
    "COPY link .",
    "COPY sub/link2 .",
    "ADD sub /app/added",
]


@pytest.fixture
def context(tmp_path: Path) -> Path:
    root = tmp_path / "context"
    (root / "sub" / "inner").mkdir(parents=True)
    (root / "empty").mkdir()
    for name in ("a.txt", "c.md", "with space.txt", "sub/d.txt", "sub/inner/e.txt", "ignored.log", "sub/kept.log"):
        (root / name).write_text(f"content of {name}")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("a.txt")
    (root / "sub" / "link2").symlink_to("d.txt")
    (root / ".dockerignore").write_text("# not these\n*.log\n")
    return root


def listing(data: bytes, root: str) -> dict[str, tuple[str, int, str | bytes]]:
    """A tar's files and links by their path below `root`: kind, permissions, content."""
    found: dict[str, tuple[str, int, str | bytes]] = {}
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for member in tar:
            name = posixpath.relpath(posixpath.join("/", member.name), root)
            file = tar.extractfile(member) if member.isreg() else None
            if not member.isdir() and not name.startswith(".."):
                found[name] = ("file", member.mode, file.read()) if file else ("link", 0, member.linkname)
    return found


@pytest.mark.docker
@pytest.mark.parametrize("lines", CASES)
async def test_same_files_as_docker(
    docker_backend: DockerBackend, context: Path, lines: str, tmp_path: Path, make_spec: SpecMaker, own_digest: str
) -> None:
    text = f"FROM debian:bookworm-slim\nWORKDIR /app\n{lines}\n"
    (context / "Dockerfile").write_text(text)
    sandbox = await docker_backend.start(make_spec(environment=context, environment_digest=own_digest))
    expected = listing(await sandbox.get("/app", 1 << 20), "/")
    await sandbox.stop()

    packed = tmp_path / "layer.tar"
    layer.pack(dockerfile.parse(text), context, packed)
    assert listing(packed.read_bytes(), "/app") == expected


@pytest.mark.parametrize("source", ["none.txt", "../outside", "ignored.log", "*.none"])
def test_a_source_that_is_not_there(context: Path, tmp_path: Path, source: str) -> None:
    recipe = dockerfile.parse(f"FROM x\nCOPY {source} /\n")
    with pytest.raises(SandboxError, match="environment/ doesn't have") as caught:
        layer.pack(recipe, context, tmp_path / "layer.tar")
    assert caught.value.kind is ErrorKind.BUILD_FAILED


def test_owner_is_root(context: Path, tmp_path: Path) -> None:
    layer.pack(dockerfile.parse("FROM x\nCOPY . /app\n"), context, tmp_path / "layer.tar")
    with tarfile.open(tmp_path / "layer.tar") as tar:
        assert {(member.uid, member.gid) for member in tar} == {(0, 0)}


def test_a_link_that_leads_out_is_refused(context: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (context / "out").symlink_to(tmp_path / "secret")
    with pytest.raises(SandboxError, match="leads out"):
        layer.pack(dockerfile.parse("FROM x\nCOPY out /app\n"), context, tmp_path / "layer.tar")
