"""Files that only their owner may read."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path


def read_or_create(path: Path, make: Callable[[], str]) -> str:
    """The text of the file, made (0600) when it isn't there. Of several that make it at once, one wins for all."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        draft = Path(name)
        try:
            with os.fdopen(descriptor, "w") as file:
                file.write(make() + "\n")
                file.flush()
                os.fsync(file.fileno())
            _link(draft, path)
        finally:
            draft.unlink()
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)
    return path.read_text().strip()


def _link(draft: Path, path: Path) -> None:
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        return
