"""A control group per bubblewrap sandbox, version 1 or 2, where this process may make one."""

import contextlib
import os
import re
import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from proctor.sandbox_runner.sandbox.protocol import Usage

_ROOT = Path("/sys/fs/cgroup")
_V1 = ("memory", "pids", "cpu", "cpuacct")
_MEASURED = ("cpuacct", "memory")
_PERIOD = 100_000
_CPU_SECONDS: Final = (("cpu.stat", r"^usage_usec (\d+)", 10**6), ("cpuacct.usage", r"^(\d+)", 10**9))
_PEAK_BYTES: Final = (("memory.peak", r"^(\d+)", 1), ("memory.max_usage_in_bytes", r"^(\d+)", 1))
"""File, number in it, and its unit: of version 2, then of version 1."""


@dataclass(frozen=True, slots=True)
class Limits:
    """`memory` in bytes; `cpus` None means no limit."""

    memory: int
    pids: int
    cpus: float | None


@dataclass(frozen=True, slots=True)
class Cgroup:
    """One sandbox's folders: one with version 2, one per controller with version 1."""

    folders: tuple[Path, ...]

    def add(self, pid: int) -> None:
        for folder in self.folders:
            (folder / "cgroup.procs").write_text(str(pid))

    def oom_kills(self) -> int:
        for name in ("memory.events", "memory.oom_control"):
            for folder in self.folders:
                with contextlib.suppress(OSError):
                    if found := re.search(r"^oom_kill (\d+)", (folder / name).read_text(), re.MULTILINE):
                        return int(found[1])
        return 0

    def usage(self) -> Usage:
        cpu, peak = self._measured(_CPU_SECONDS), self._measured(_PEAK_BYTES)
        return Usage(cpu, None if peak is None else int(peak))

    def _measured(self, places: Iterable[tuple[str, str, int]]) -> float | None:
        for name, pattern, unit in places:
            for folder in self.folders:
                with contextlib.suppress(OSError):
                    if found := re.search(pattern, (folder / name).read_text(), re.MULTILINE):
                        return int(found[1]) / unit
        return None

    def remove(self) -> None:
        """Kill what is left in it and remove it; the kernel needs a moment to let the last process go."""
        until = time.monotonic() + 2
        for folder in self.folders:
            while folder.exists() and time.monotonic() < until:
                for pid in _processes(folder):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                with contextlib.suppress(OSError):
                    folder.rmdir()
                    break
                time.sleep(0.002)


@dataclass(frozen=True, slots=True)
class Group:
    """The parents of all sandboxes of one back end."""

    folders: tuple[Path, ...]
    version: int

    def create(self, name: str, limits: Limits) -> Cgroup:
        folders = tuple(parent / name for parent in self.folders)
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
            for file, value in _settings(self.version, limits).items():
                if (folder / file).exists():
                    (folder / file).write_text(value)
        return Cgroup(folders)

    def names(self) -> set[str]:
        return {each.name for parent in self.folders if parent.exists() for each in parent.iterdir() if each.is_dir()}

    def find(self, name: str) -> Cgroup:
        return Cgroup(tuple(parent / name for parent in self.folders))

    def remove(self) -> None:
        for parent in self.folders:
            with contextlib.suppress(OSError):
                parent.rmdir()


def of_container(container: str) -> Cgroup | None:
    """Docker's, where the engine is this host's and its groups can be seen from here."""
    places = (f"docker/{container}", f"system.slice/docker-{container}.scope")
    folders = [root / place for root in (_ROOT, *(_ROOT / each for each in _MEASURED)) for place in places]
    found = tuple(folder for folder in folders if folder.is_dir())
    return Cgroup(found) if found else None


def open_group(name: str) -> Group | None:
    """Make the parents, or None where this process may not, or memory can't be limited."""
    if (_ROOT / "cgroup.controllers").exists():
        return next((group for base in _own_places() if (group := _open_v2(base, name))), None)
    return _open_v1(name)


def _open_v1(name: str) -> Group | None:
    folders = [_ROOT / controller / name for controller in _V1 if (_ROOT / controller).is_dir()]
    try:
        for folder in folders:
            folder.mkdir(exist_ok=True)
    except OSError:
        return None
    return Group(tuple(folders), 1) if (_ROOT / "memory") in {folder.parent for folder in folders} else None


def _open_v2(base: Path, name: str) -> Group | None:
    parent = base / name
    try:
        _enable(base)
        parent.mkdir(exist_ok=True)
        _enable(parent)
    except OSError:
        return None
    return Group((parent,), 2) if "memory" in (parent / "cgroup.subtree_control").read_text() else None


def _own_places() -> Iterator[Path]:
    """Where version 2 may let this process make groups: beside its own, mostly, since its own holds processes."""
    own = Path("/proc/self/cgroup").read_text().strip().rpartition("::/")[2]
    yield _ROOT / own
    yield (_ROOT / own).parent if own else _ROOT


def _enable(folder: Path) -> None:
    have = (folder / "cgroup.subtree_control").read_text().split()
    can = (folder / "cgroup.controllers").read_text().split()
    wanted = [f"+{each}" for each in _V1 if each in can and each not in have]
    if wanted:
        (folder / "cgroup.subtree_control").write_text(" ".join(wanted))


def _settings(version: int, limits: Limits) -> Mapping[str, str]:
    memory, pids = str(limits.memory), str(limits.pids)
    if version == 2:
        cpu = {"cpu.max": f"{limits.cpus * _PERIOD:.0f} {_PERIOD}"} if limits.cpus else {}
        return {"memory.max": memory, "memory.swap.max": "0", "pids.max": pids} | cpu
    cpu = {"cpu.cfs_quota_us": f"{limits.cpus * _PERIOD:.0f}"} if limits.cpus else {}
    return {"memory.limit_in_bytes": memory, "memory.memsw.limit_in_bytes": memory, "pids.max": pids} | cpu


def _processes(folder: Path) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(pid) for pid in (folder / "cgroup.procs").read_text().split()]
    return []
