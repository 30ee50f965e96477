"""Which platform is talked to, and as whom: by the environment, a profile, or the home of one on this machine."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from proctor.cli.addresses import check_private, read_url
from proctor.cli.failure import Exit, Failure, Misused
from proctor.cli.output import notice
from proctor.cli.pasteable import pasteable
from proctor.cli.platform.home import Home, Running, owner, read_running
from proctor.cli.profiles import Profile, read_profiles
from proctor.service.settings import default_home

URL: Final = "PROCTOR_URL"
TOKEN: Final = "PROCTOR_TOKEN"
PROFILE: Final = "PROCTOR_PROFILE"
WORKSPACE: Final = "PROCTOR_WORKSPACE"
INSECURE: Final = "PROCTOR_INSECURE"


@dataclass(frozen=True, slots=True)
class Access:
    """`workspace` None is the first that the user is a member of. `token_place` is for messages: where it was found."""

    url: str
    token: str
    workspace: str | None = None
    token_place: str = "the token in the home or PROCTOR_TOKEN"


def home_of(path: Path | None) -> Home:
    try:
        return Home((path or default_home()).expanduser().absolute())
    except RuntimeError:
        raise Misused(f"{path}: there is no such user: name a folder with --home") from None


def find_access(path: Path | None) -> Access:
    """PROCTOR_URL and PROCTOR_TOKEN go before a profile that is named, that before a home that is named, that before
    the profile in use, and the default home is the last. Raises Failure with what is missing."""
    url, token = os.environ.get(URL), os.environ.get(TOKEN)
    if url:
        return _by_environment(read_url(url, URL), token, path)
    if found := _profile(path):
        return _by_profile(*found, token)
    home = home_of(path)
    running = find_running(home)
    place = TOKEN if token else f"the token in {home.token}"
    return Access(running.url, token or _read_token(home), _workspace(), place)


def _by_environment(url: str, token: str | None, path: Path | None) -> Access:
    """A profile's token goes along to the profile's own address only."""
    if token:
        if name := os.environ.get(PROFILE):
            notice(f"{URL} and {TOKEN} go before the profile {name}")
        check_private(url, URL, insecure=_insecure())
        return Access(url, token, _workspace(), TOKEN)
    found = _profile(path)
    if found and found[1].url == url:
        return _by_profile(*found)
    if os.environ.get(PROFILE):
        raise Misused(f"{URL} goes before the profile {os.environ[PROFILE]}, which is for another: set {TOKEN} as well")
    check_private(url, URL, insecure=_insecure())
    home = home_of(path)
    return Access(url, _read_token(home), _workspace(), f"the token in {home.token}")


def _by_profile(name: str, profile: Profile, token: str | None = None) -> Access:
    check_private(profile.url, f"profile {name}", insecure=profile.insecure or _insecure())
    place = TOKEN if token else f"the profile {name}, or sign in again with `proctor login`"
    return Access(profile.url, token or profile.token, _workspace() or profile.workspace, place)


def _profile(path: Path | None) -> tuple[str, Profile] | None:
    """The profile that counts here: the one that is named, else the one in use unless a home is named."""
    if name := os.environ.get(PROFILE):
        return name, read_profiles().find(name, PROFILE)
    if path is not None:
        return None
    profiles = read_profiles()
    return (profiles.use, profiles.find(profiles.use, "the profile in use")) if profiles.use else None


def _insecure() -> bool:
    return os.environ.get(INSECURE, "").lower() in {"1", "true", "yes"}


def _workspace() -> str | None:
    name = os.environ.get(WORKSPACE)
    if name and not (name.isascii() and name.isprintable()):
        raise Misused(f"{name!r} can't be the name of a workspace: those are ASCII; see `proctor workspace list`")
    return name or None


def find_running(home: Home) -> Running:
    running = read_running(home)
    if running is None:
        if other := owner(home.root):
            raise Misused(f"can't read {home.root} (it belongs to {other}): name another with --home or PROCTOR_HOME")
        if home.root.is_file():
            raise Misused(f"{home.root} is a file: name the folder of a platform with --home")
        raise Failure(
            f"no platform runs in {home.root}: start one with `{pasteable('up', home=home.root)}`, "
            "or name another by --home, --profile or PROCTOR_URL",
            code=Exit.UNREACHABLE,
        )
    return running


def _read_token(home: Home) -> str:
    try:
        return home.token.read_text().strip()
    except FileNotFoundError:
        raise Misused(f"there is no token in {home.token}: set PROCTOR_TOKEN") from None
    except OSError as error:
        raise Misused(f"can't read the token in {home.token} ({error.strerror}): set PROCTOR_TOKEN") from error
