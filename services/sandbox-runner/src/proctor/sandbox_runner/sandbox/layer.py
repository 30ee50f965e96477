"""A task's copied files as one tar, which a bubblewrap sandbox extracts over its root."""

import posixpath
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from docker.utils.build import exclude_paths

from proctor.sandbox_runner.sandbox.dockerfile import Copy, Recipe
from proctor.sandbox_runner.sandbox.errors import ErrorKind, SandboxError

_FOLDERS_OF_ANY_ROOT = frozenset({"/", "/etc", "/home", "/opt", "/root", "/srv", "/tmp", "/usr", "/var"})  # noqa: S108


@dataclass(slots=True)
class _Context:
    """An environment/ folder as a build would see it: without what .dockerignore excludes."""

    root: Path
    paths: list[str] = field(init=False)

    def __post_init__(self) -> None:
        ignore = self.root / ".dockerignore"
        lines = ignore.read_text().splitlines() if ignore.is_file() else []
        patterns = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
        self.paths = sorted(exclude_paths(str(self.root), patterns))

    def matching(self, pattern: str) -> list[str]:
        """The paths a COPY source names; "." is the folder itself."""
        pattern = posixpath.normpath(pattern.lstrip("/") or ".")
        if pattern == ".":
            return ["."]
        return [path for path in self.paths if PurePosixPath(path).full_match(pattern)]

    def behind(self, path: str) -> str:
        """The path a link leads to; build_failed when that is outside."""
        real = (self.root / path).resolve()
        root = self.root.resolve()
        if not real.is_relative_to(root):
            raise SandboxError(
                ErrorKind.BUILD_FAILED, f"environment/Dockerfile copies {path}, a link that leads out of environment/"
            )
        return real.relative_to(root).as_posix()

    def below(self, folder: str) -> Iterator[tuple[str, str]]:
        for path in self.paths:
            relative = posixpath.relpath(path, folder)
            if relative != "." and not relative.startswith(".."):
                yield path, relative


def pack(recipe: Recipe, environment: Path, out: Path) -> None:
    """Write the tar of everything the recipe copies; build_failed when a source isn't there."""
    context = _Context(environment)
    folders = set(_FOLDERS_OF_ANY_ROOT) | set(recipe.workdirs)
    with tarfile.open(out, "w", format=tarfile.PAX_FORMAT) as tar:
        for copy in recipe.copies:
            for path, target in _placed(context, copy, folders):
                info = tar.gettarinfo(environment / path, target.lstrip("/"))
                _add(tar, _owned_by_root(info, copy.mode), environment / path)


def _placed(context: _Context, copy: Copy, folders: set[str]) -> Iterator[tuple[str, str]]:
    """Pairs of a path in the environment and where it goes, by Docker's rules for COPY."""
    into_folder = copy.target.endswith("/") or copy.target in folders
    for source in copy.sources:
        found = context.matching(source)
        if not found:
            raise SandboxError(
                ErrorKind.BUILD_FAILED, f"environment/Dockerfile copies {source}, which environment/ doesn't have"
            )
        for name in found:
            path = context.behind(name)  # Docker follows a link it is told to copy, but none inside a folder
            if (context.root / path).is_dir():
                folders.add(copy.target.rstrip("/") or "/")
                for member, relative in context.below(path):
                    yield member, posixpath.join(copy.target, relative)
            elif into_folder or len(found) > 1:
                folders.add(copy.target.rstrip("/") or "/")
                yield path, posixpath.join(copy.target, posixpath.basename(name))
            else:
                yield path, copy.target


def _owned_by_root(info: tarfile.TarInfo, mode: int | None) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = "root"
    if mode is not None:
        info.mode = mode
    return info


def _add(tar: tarfile.TarFile, info: tarfile.TarInfo, path: Path) -> None:
    if info.isreg():
        with path.open("rb") as content:
            tar.addfile(info, content)
    else:
        tar.addfile(info)
