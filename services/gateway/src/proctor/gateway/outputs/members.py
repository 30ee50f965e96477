"""Where in a tar of artifacts each of its files is. The tar holds what an agent wrote: nothing is unpacked, and what
its files are called is made fit to be a path on any machine."""

import re
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from proctor.gateway.outputs.spools import Spool

_UNREADABLE: Final = (tarfile.TarError, ValueError, OverflowError, EOFError, OSError, RecursionError)
_UNFIT: Final = re.compile("[\x00-\x1f\x7f-\x9f\\\\\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class Member(NamedTuple):
    """`offset`: where in the tar its bytes begin."""

    path: str
    offset: int
    size: int


def members_of(spool: Spool) -> list[Member]:
    """The files of a tar under the names they are downloaded by; none of what isn't a whole tar."""
    try:
        with spool.open() as data, tarfile.open(fileobj=data, mode="r:") as archive:
            found = [(info.name, info.offset_data, info.size) for info in archive if info.isreg() and not info.sparse]
    except _UNREADABLE:
        return []
    names = fit_names(name for name, _, _ in found)
    return [Member(name, offset, size) for name, (_, offset, size) in zip(names, found, strict=True)]


def fit_names(names: Iterable[str]) -> list[str]:
    """A relative path for each, no two the same but for case and none a folder of another: what stands in the way of
    that gets `~2`, `~3` ... at its end."""
    paths = [_fit(name) for name in names]
    taken = {str(parent).casefold() for path in paths for parent in PurePosixPath(path).parents}
    fit: list[str] = []
    for path in paths:
        name = next(one for one in _variants(path) if one.casefold() not in taken)
        taken.add(name.casefold())
        fit.append(name)
    return fit


def _fit(name: str) -> str:
    """Backslashes and what isn't text become U+FFFD; what would lead elsewhere is left out."""
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    parts = (_UNFIT.sub("\N{REPLACEMENT CHARACTER}", part) for part in text.split("/") if part not in {"", ".", ".."})
    return "/".join(parts) or "file"


def _variants(path: str) -> Iterator[str]:
    yield path
    number = 2
    while True:
        yield f"{path}~{number}"
        number += 1
