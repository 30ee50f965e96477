"""Where the platform is and who we are: from the environment, else from the home of a platform on this machine."""

import os
from dataclasses import dataclass
from pathlib import Path

from proctor.cli.failure import Failure
from proctor.cli.pasteable import pasteable
from proctor.cli.platform.home import Home, Running, owner, read_running
from proctor.service.settings import default_home


@dataclass(frozen=True, slots=True)
class Access:
    url: str
    token: str


def home_of(path: Path | None) -> Home:
    try:
        return Home((path or default_home()).expanduser().absolute())
    except RuntimeError:
        raise Failure(f"{path}: there is no such user: name a folder with --home") from None


def find_access(path: Path | None) -> Access:
    """`PROCTOR_URL` and `PROCTOR_TOKEN` win over what the home says. Raises Failure with what is missing."""
    home = home_of(path)
    url = os.environ.get("PROCTOR_URL") or find_running(home).url
    token = os.environ.get("PROCTOR_TOKEN") or _read_token(home)
    return Access(url.rstrip("/"), token)


def find_running(home: Home) -> Running:
    running = read_running(home)
    if running is None:
        if other := owner(home.root):
            raise Failure(f"can't read {home.root} (it belongs to {other}): name another with --home or PROCTOR_HOME")
        if home.root.is_file():
            raise Failure(f"{home.root} is a file: name the folder of a platform with --home")
        raise Failure(
            f"no platform runs in {home.root}: start one with `{pasteable('up', home=home.root)}`, "
            "or name another by --home or PROCTOR_URL"
        )
    return running


def _read_token(home: Home) -> str:
    try:
        return home.token.read_text().strip()
    except FileNotFoundError:
        raise Failure(f"there is no token in {home.token}: set PROCTOR_TOKEN") from None
    except OSError as error:
        raise Failure(f"can't read the token in {home.token} ({error.strerror}): set PROCTOR_TOKEN") from error
