"""Names of packages, steps and files, and what makes one usable on every machine."""

import re
import unicodedata
from typing import Final

_PACKAGE: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]*/[a-zA-Z0-9][a-zA-Z0-9._-]*")
_NOT_PORTABLE: Final = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_DEVICE: Final = re.compile(r"(CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(?:COM|LPT)[1-9¹²³])", re.IGNORECASE)
_LONGEST: Final = 255
_LONGEST_PATH: Final = 1024


def package_name(name: str) -> str:
    """The name when it is `org/name`, else ValueError."""
    if not _PACKAGE.fullmatch(name) or ".." in name:
        raise ValueError(
            f"{name!r} must be 'org/name': letters, digits, '.', '_' and '-', each part starting with a letter or digit"
        )
    return name


def step_name(name: str) -> str:
    """The name when it can be one folder on every system, else ValueError."""
    if (
        not name.strip()
        or name in {".", ".."}
        or name.endswith((".", " "))
        or _NOT_PORTABLE.search(name)
        or _DEVICE.fullmatch(name.partition(".")[0].rstrip(" "))
        or len(name.encode()) > _LONGEST
    ):
        raise ValueError(
            f"{name!r} can't be a folder name on every system: at most 255 bytes, no separators, control or "
            "reserved characters, no device name, no trailing dot or space"
        )
    return name


def step_name_key(name: str) -> str:
    """Equal for two names that one file system would take for the same folder."""
    return unicodedata.normalize("NFC", name).casefold()


def folder_name_problem(name: str) -> str | None:
    """Why a folder can't give its name to a task, or None."""
    if problem := path_problem(name):
        return problem
    if name != name.strip() or name[:1] in {".", "-"}:
        return "starts with a dot, a hyphen or a space, or ends with a space"
    return None


def path_problem(path: str) -> str | None:
    """Why a relative path of a package can't be used, or None. The path is POSIX."""
    if _CONTROL.search(path):
        return "has control characters or isn't UTF-8"
    if "\\" in path:
        return "has a backslash"
    if len(path.encode()) > _LONGEST_PATH:
        return f"is longer than {_LONGEST_PATH} bytes"
    if any(len(part.encode()) > _LONGEST for part in path.split("/")):
        return "has a part longer than 255 bytes"
    return None
