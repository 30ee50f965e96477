"""Commands that are printed to be pasted into any shell of this user."""

import os
import shlex
import shutil
import sys
from pathlib import Path

from proctor.service.settings import default_home


def pasteable(*words: str, home: Path | None) -> str:
    """`proctor` and these words: with the program's path, unless a shell is sure to find it, and with the home, unless
    it is the default; without a home, with the profile that was named."""
    chosen = [] if home is None or home == default_home() else ["--home", str(home)]
    profile = os.environ.get("PROCTOR_PROFILE") if home is None else None
    return shlex.join([_program(), *(["--profile", profile] if profile else []), *words, *chosen])


def _program() -> str:
    own = Path(sys.executable).with_name("proctor")
    found = shutil.which("proctor")
    linked = found is not None and Path(found) != own and Path(found).resolve() == own.resolve()
    return "proctor" if linked or os.environ.get("VIRTUAL_ENV") == sys.prefix else str(own)
