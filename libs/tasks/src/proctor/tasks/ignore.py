"""Which files of a task are left out: `.gitignore` at its root, `.harborignore` in tests/ and solution/."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from pathspec import GitIgnoreSpec, PathSpec
from pathspec.pattern import Pattern

from proctor.tasks.errors import TaskInvalid

GITIGNORE: Final = ".gitignore"
HARBORIGNORE: Final = ".harborignore"
_WITHOUT_GITIGNORE: Final = ("__pycache__/", "*.pyc", ".DS_Store", "*.swp", "*.swo", "*~")
_SCOPES: Final = GitIgnoreSpec.from_lines(("/tests/", "/solution/", "/steps/*/tests/", "/steps/*/solution/"))


def gitignore_rules(root: Path) -> PathSpec[Pattern]:
    """The task's own rules; a task without .gitignore leaves out editor and Python litter."""
    file = root / GITIGNORE
    lines = _lines(file, root) if file.exists() else _WITHOUT_GITIGNORE
    return PathSpec.from_lines("gitignore", lines)


class InputFilter:
    """The `.harborignore` rules of one task. They apply to tests and solutions only, are inherited by
    subfolders, and the last rule that matches decides; a folder left out takes everything in it along."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._rules: dict[PurePosixPath, GitIgnoreSpec] = {}

    def excludes(self, path: Path) -> bool:
        """Whether a path in the task, or what it links to within the task, is left out."""
        target = path.resolve()
        linked = target != path and target.is_relative_to(self._root)
        return self._matches(path) or (linked and self._matches(target))

    def _matches(self, path: Path) -> bool:
        relative = PurePosixPath(path.relative_to(self._root).as_posix())
        if relative.name == HARBORIGNORE:
            return True
        is_folder = path.is_dir()
        if not _SCOPES.match_file(_text(relative, folder=is_folder)):
            return False
        return any(
            self._decides(place, folder=is_folder or place != relative)
            for place in reversed((relative, *relative.parents[:-1]))
        )

    def _decides(self, place: PurePosixPath, *, folder: bool) -> bool:
        if not _SCOPES.match_file(_text(place, folder=folder)):
            return False
        excluded = False
        for owner in self._owners(place):
            verdict = self._rules_of(owner).check_file(_text(place.relative_to(owner), folder=folder)).include
            excluded = excluded if verdict is None else verdict
        return excluded

    def _owners(self, place: PurePosixPath) -> Iterator[PurePosixPath]:
        """The folders above a path whose rules it inherits, outermost first."""
        return (parent for parent in reversed(place.parents[:-1]) if _SCOPES.match_file(_text(parent, folder=True)))

    def _rules_of(self, folder: PurePosixPath) -> GitIgnoreSpec:
        if folder not in self._rules:
            file = self._root / folder / HARBORIGNORE
            lines = _lines(file, self._root) if file.exists() or file.is_symlink() else []
            self._rules[folder] = GitIgnoreSpec.from_lines(lines)
        return self._rules[folder]


def _text(path: PurePosixPath, *, folder: bool) -> str:
    return f"{path.as_posix()}/" if folder else path.as_posix()


def _lines(file: Path, root: Path) -> list[str]:
    name = file.relative_to(root).as_posix()
    if not file.resolve().is_relative_to(root) or not file.is_file():
        raise TaskInvalid(f"{name}: must be a file of the task; it is a folder, or a link that leaves the task")
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise TaskInvalid(f"{name}: not UTF-8 text; save it as UTF-8") from None
