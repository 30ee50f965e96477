"""The servers that a person works with: `profiles.toml`, for its owner's eyes only."""

import contextlib
import difflib
import fcntl
import os
import re
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Annotated, Final

import tomli_w
from pydantic import AfterValidator, Field, ValidationError

from proctor.cli.addresses import read_url
from proctor.cli.failure import Misused
from proctor.cli.platform.home import write_private
from proctor.cli.toml_text import parse_toml
from proctor.contracts.work import Frozen

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_OTHERS: Final = 0o077


def _url(text: str) -> str:
    try:
        return read_url(text, "url")
    except Misused as problem:
        raise ValueError(problem.message.removeprefix("url: ")) from None


class Profile(Frozen):
    url: Annotated[str, AfterValidator(_url)]
    token: str = Field(min_length=1, repr=False)
    workspace: str | None = None
    insecure: bool = False
    """Whether the token may go to another machine by plain http."""


class Profiles(Frozen):
    """`use`: the one that is taken where nothing else is said."""

    use: str | None = None
    profiles: dict[str, Profile] = Field(default_factory=dict[str, Profile])

    def find(self, name: str, where: str = "") -> Profile:
        """Raises Misused, which says `where` the name comes from, with the one that was probably meant."""
        if found := self.profiles.get(name):
            return found
        near = difflib.get_close_matches(name, self.profiles, 1)
        hint = f"did you mean {near[0]}?" if near else "`proctor profile list` shows what there is"
        raise Misused(f"{where + ': ' if where else ''}there is no profile {name}: {hint}")

    def having(self, name: str, profile: Profile, *, use: bool) -> "Profiles":
        return Profiles(use=name if use else self.use, profiles={**self.profiles, name: profile})

    def using(self, name: str | None) -> "Profiles":
        return Profiles(use=name, profiles=self.profiles)

    def without(self, name: str) -> "Profiles":
        left = {other: profile for other, profile in self.profiles.items() if other != name}
        return Profiles(use=None if self.use == name else self.use, profiles=left)


def check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise Misused(f"{name!r} can't be the name of a profile: write 1 to 63 of A-Z a-z 0-9 . _ -")
    return name


def profiles_file() -> Path:
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    return (Path(folder) if Path(folder).is_absolute() else Path.home() / ".config") / "proctor" / "profiles.toml"


def read_profiles(file: Path | None = None) -> Profiles:
    """None at all where there is no file. Raises Misused when it can't be used, with what to do."""
    file = file or profiles_file()
    try:
        with file.open(encoding="utf-8") as opened:
            mode = os.fstat(opened.fileno()).st_mode & 0o777
            text = opened.read()
    except FileNotFoundError:
        return Profiles()
    except UnicodeDecodeError:
        raise Misused(f"{file}: not UTF-8 text; mend it or remove it") from None
    except OSError as error:
        raise Misused(f"can't read {file}: {error.strerror}") from None
    if mode & _OTHERS:
        raise Misused(f"others can read {file}, which holds tokens (mode {mode:o}): `chmod 600 {file}`")
    try:
        return Profiles.model_validate(parse_toml(text, str(file), shown=False))
    except ValidationError as error:
        (first, *_) = error.errors(include_url=False, include_input=False)
        message = first["msg"].removeprefix("Value error, ")
        raise Misused(f"{file}: {'.'.join(map(str, first['loc']))}: {message}") from None


def change_profiles(change: Callable[[Profiles], Profiles]) -> Profiles:
    """Two changes at once are made one after the other. Raises Misused when the file can't be used."""
    file = profiles_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _alone(file.parent):
            changed = change(read_profiles(file))
            write_private(file, tomli_w.dumps(changed.model_dump(exclude_none=True, exclude_defaults=True)))
    except OSError as error:
        raise Misused(f"can't write {file}: {error.strerror}") from None
    return changed


@contextlib.contextmanager
def _alone(folder: Path) -> Generator[None]:
    """The kernel lets go when the process ends."""
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(place, fcntl.LOCK_EX)
        yield
    finally:
        os.close(place)
