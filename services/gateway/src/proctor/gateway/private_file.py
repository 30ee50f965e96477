"""Files that only their owner may read."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path


def read_or_create(path: Path, make: Callable[[], str]) -> str:
    """The text of the file, made (0600) when it isn't there. Of several that make it at once, one wins for all."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = _draft(path, make() + "\n")
        try:
            _link(draft, path)
        finally:
            draft.unlink()
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)
    return path.read_text().strip()


def replace(path: Path, text: str) -> None:
    """The file as a whole: whenever the machine fails, it holds the old text or the new one."""
    _draft(path, text).replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _draft(path: Path, text: str) -> Path:
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        draft.unlink()
        raise
    return draft


def _link(draft: Path, path: Path) -> None:
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        return
