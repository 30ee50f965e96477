"""The values of task.toml that can be run. Harbor's schema reads more than these: a timeout of `nan`, say."""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final, cast

from proctor.tasks.errors import TaskInvalid, dotted, shortened
from proctor.tasks.names import path_problem
from proctor.tasks.schema import TaskConfig
from proctor.tasks.table import Table

_LARGEST_ID: Final = 2**32 - 2
_LONGEST_IMAGE: Final = 512
_USER: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,31}\$?")
_LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_COMPONENT: Final = r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*"
_IMAGE: Final = re.compile(
    rf"(?:(?:{_LABEL}(?:\.{_LABEL})*|\[[0-9a-fA-F:]+\])(?::[0-9]+)?/)?"
    rf"{_COMPONENT}(?:/{_COMPONENT})*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?"
    r"(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?"
)

_Place = tuple[int | str, ...]


def check_values(config: TaskConfig, file: str) -> None:
    """Raises TaskInvalid with a line for every value of the config that no run could use."""
    lines = [f"{file}: {dotted(place)}: {problem}" for place, problem in _problems(config, ())]
    if lines:
        raise TaskInvalid("\n".join(lines))


def _problems(value: object, at: _Place) -> Iterator[tuple[_Place, str]]:
    if isinstance(value, Table):
        windows = getattr(value, "os", None) == "windows"
        for key in type(value).model_fields:
            child, check = getattr(value, key), _CHECKS.get(key)
            if check is None:
                yield from _problems(child, (*at, key))
            elif child is not None and not (windows and key == "workdir"):
                yield from _failed(check, child, (*at, key))
    elif isinstance(value, tuple):
        for index, item in enumerate(cast("tuple[object, ...]", value)):
            yield from _problems(item, (*at, index))


def _failed(check: "_Check", value: object, at: _Place) -> Iterator[tuple[_Place, str]]:
    if isinstance(value, dict):
        for key, item in cast("dict[str, object]", value).items():
            yield from _failed(check, item, (*at, key))
    elif problem := check(value):
        yield at, problem


@dataclass(frozen=True, slots=True)
class _Range:
    """Finite numbers from `least` to `most`, or, with `above`, those above it."""

    least: float
    most: float
    unit: str
    above: bool = False

    def __call__(self, value: float) -> str | None:
        # An int of any length is compared as it is; only a float can be without a value.
        finite = isinstance(value, int) or math.isfinite(value)
        if finite and (self.least < value if self.above else self.least <= value) and value <= self.most:
            return None
        lower = f"above {self.least:g}" if self.above else f"from {self.least:g}"
        return f"{shortened(value)!r} can't be used; write {self.unit} {lower} to {self.most:.0f}, or remove it"


def _image(value: str) -> str | None:
    # An empty name is none at all: the environment folder says what the image is.
    if not value or (len(value) <= _LONGEST_IMAGE and _IMAGE.fullmatch(value)):
        return None
    return f"{shortened(value)!r} is not an image reference; write it as 'name:tag' or 'registry.example.com/name:tag'"


def _workdir(value: str) -> str | None:
    path = PurePosixPath(value)
    if path.is_absolute() and ".." not in path.parts and path_problem(value) is None:
        return None
    return f"{shortened(value)!r} is not an absolute path without '..'; write it as '/app', or remove it"


def _user(value: str | int) -> str | None:
    """A name or an id, and as Docker has it, after a colon that of a group."""
    parts = [str(value)] if isinstance(value, int) else value.split(":")
    if len(parts) <= 2 and all(_is_account(part) for part in parts):
        return None
    return f"{shortened(value)!r} is not a user; write a name such as 'agent', an id such as 1000, or remove it"


def _is_account(name: str) -> bool:
    return bool(_USER.fullmatch(name)) and not (name.isdigit() and int(name) > _LARGEST_ID)


def _reward(value: float) -> str | None:
    return (
        None if math.isfinite(value) else f"{shortened(value)!r} can't be reached; write a finite number, or remove it"
    )


_Check = Callable[[Any], str | None]
_SECONDS: Final = _Range(0, 7 * 24 * 3600, "seconds", above=True)
_MEGABYTES: Final = _Range(4, 16 << 20, "megabytes")
# By the key's name, wherever in the file it is.
_CHECKS: Final[Mapping[str, _Check]] = {
    "timeout_sec": _SECONDS,
    "build_timeout_sec": _SECONDS,
    "interval_sec": _SECONDS,
    "start_interval_sec": _SECONDS,
    "start_period_sec": _Range(0, _SECONDS.most, "seconds"),
    "cpus": _Range(0, 1024, "a number", above=True),
    "memory_mb": _MEGABYTES,
    "storage_mb": _MEGABYTES,
    "gpus": _Range(0, 1024, "a number"),
    "docker_image": _image,
    "workdir": _workdir,
    "user": _user,
    "min_reward": _reward,
}
