"""Files of a run's outputs to disk: several at once, each taken up again where it broke off."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

import httpx

from proctor.cli.client import Client, Unreachable, segment
from proctor.cli.documents import Json, parts
from proctor.cli.failure import Failure

AT_ONCE: Final = 8
TRIES: Final = 3
PAUSE_SECONDS: Final = 0.5

type Advance = Callable[[int], object]
type Ask = Callable[[str, Mapping[str, str]], AbstractContextManager[httpx.Response]]


class Wanted(NamedTuple):
    """`tag` tells the file's bytes from any others."""

    path: str
    size: int
    tag: str
    target: Path


@dataclass(frozen=True, slots=True)
class Plan:
    """What of a listing is fetched; `skipped` are there already, `refused` would lead out of the folder."""

    wanted: Sequence[Wanted]
    skipped: Sequence[str]
    refused: Sequence[str]

    @property
    def size(self) -> int:
        return sum(file.size for file in self.wanted)


@dataclass(slots=True)
class Report:
    downloaded: list[str] = field(default_factory=list[str])
    skipped: list[str] = field(default_factory=list[str])
    failed: dict[str, str] = field(default_factory=dict[str, str])


def plan(listing: Json, folder: Path, *, overwrite: bool) -> Plan:
    """A file of the same size is taken to be the same, unless it is to be overwritten."""
    wanted: list[Wanted] = []
    skipped: list[str] = []
    refused: list[str] = []
    for file in parts(listing, "items"):
        target = target_of(folder, file["path"])
        if target is None:
            refused.append(file["path"])
        elif not overwrite and target.is_file() and target.stat().st_size == file["size"]:
            skipped.append(file["path"])
        else:
            wanted.append(Wanted(file["path"], file["size"], file["etag"], target))
    return Plan(wanted, skipped, refused)


def target_of(folder: Path, path: str) -> Path | None:
    """None for what would lead out of the folder, also by a link that is there."""
    names = path.split("/")
    if "\\" in path or "\0" in path or any(name in {"", ".", ".."} for name in names):
        return None
    target = folder.joinpath(*names)
    return target if target.parent.resolve().is_relative_to(folder.resolve()) else None


def fetch(client: Client, run: str, snapshot: str, planned: Plan, advance: Advance) -> Report:
    """Every file of the plan. One that can't be had is in the report, and the others go on."""

    def ask(path: str, headers: Mapping[str, str]) -> AbstractContextManager[httpx.Response]:
        return client.stream(f"runs/{segment(run)}/outputs/{quote(path)}", headers, snapshot=snapshot)

    report = Report(skipped=list(planned.skipped))
    report.failed |= dict.fromkeys(planned.refused, "its path leads out of the folder")
    executor = ThreadPoolExecutor(AT_ONCE)
    try:
        under_way: dict[Future[None], Wanted] = {
            executor.submit(_fetch_one, ask, file, advance): file for file in planned.wanted
        }
        for future in as_completed(under_way):
            path = under_way[future].path
            try:
                future.result()
            except Failure as error:
                report.failed[path] = error.message
            except OSError as error:
                report.failed[path] = f"can't write it: {error.strerror}"
            else:
                report.downloaded.append(path)
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
    return report


def _fetch_one(ask: Ask, file: Wanted, advance: Advance) -> None:
    file.target.parent.mkdir(parents=True, exist_ok=True)
    partial = file.target.with_name(f".{file.tag.strip('"')}.partial")
    counted = _Counted(advance)
    for number in range(TRIES):
        try:
            _receive(ask, file, partial, counted)
            break
        except Unreachable:
            if number == TRIES - 1:
                raise
            time.sleep(PAUSE_SECONDS * 2**number)
    partial.replace(file.target)


def _receive(ask: Ask, file: Wanted, partial: Path, counted: "_Counted") -> None:
    have = partial.stat().st_size if partial.exists() else 0
    if have == file.size and partial.exists():
        counted.set(have)
        return
    resume = {"Range": f"bytes={have}-", "If-Range": file.tag} if 0 < have < file.size else {}
    with ask(file.path, {"Accept-Encoding": "identity", **resume}) as response:
        resumed = response.status_code == HTTPStatus.PARTIAL_CONTENT
        counted.set(have if resumed else 0)
        with partial.open("ab" if resumed else "wb") as opened:
            for chunk in response.iter_bytes():
                opened.write(chunk)
                counted.add(len(chunk))
    if (size := partial.stat().st_size) != file.size:
        partial.unlink()
        raise Unreachable(f"{size} bytes arrived instead of {file.size}")


class _Counted:
    """One file's part of the progress, which goes back when the file begins again."""

    def __init__(self, advance: Advance) -> None:
        self._advance, self._bytes = advance, 0

    def set(self, size: int) -> None:
        self.add(size - self._bytes)

    def add(self, size: int) -> None:
        self._bytes += size
        self._advance(size)
