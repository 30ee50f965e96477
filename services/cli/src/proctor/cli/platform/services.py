"""The services of an installation as programs, in the order in which they are started."""

import hashlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

from proctor.cli.platform.home import Home
from proctor.cli.platform.ports import in_url, local_address
from proctor.cli.platform.program import Program

MODULES: Final = {
    "gateway": "proctor.gateway",
    "registry-sync": "proctor.registry_sync",
    "scheduler": "proctor.scheduler",
    "grader": "proctor.grader",
    "leaderboard": "proctor.leaderboard",
}
RUNNER: Final = "proctor.sandbox_runner"

_TIER: Final = {"gateway": 2}
"""The gateway is stopped first, so that nothing new comes in while the rest ends."""


class Backend(StrEnum):
    AUTO = "auto"
    DOCKER = "docker"
    BUBBLEWRAP = "bubblewrap"


@dataclass(frozen=True, slots=True)
class Plan:
    """What to start. `capacity` None leaves it to the runners, `nats_port` None takes the one of the last start."""

    port: int
    host: str = "127.0.0.1"
    runners: int = 1
    backend: Backend = Backend.AUTO
    capacity: int | None = None
    nats_host: str = "127.0.0.1"
    nats_port: int | None = None

    @property
    def url(self) -> str:
        return f"http://{in_url(local_address(self.host))}:{self.port}"


def service_programs(home: Home, plan: Plan, nats_url: str, database_url: str) -> list[Program]:
    common = {
        **installation_environment(nats_url),
        "PROCTOR_HOME": str(home.root),
        "PROCTOR_NATS_URL": nats_url,
        "PROCTOR_DATABASE_URL": database_url,
        "PROCTOR_HOST": plan.host,
        "PROCTOR_PORT": str(plan.port),
        "PROCTOR_SUPERVISED": "1",
        "PROCTOR_LOG_FORMAT": "json",
    }
    runners = {
        f"sandbox-runner-{number}": runner_environment(plan.backend, plan.capacity, f"local-{number}")
        for number in range(1, plan.runners + 1)
    }
    return [
        *(_program(home, name, module, common) for name, module in MODULES.items()),
        *(_program(home, name, RUNNER, {**common, **own}) for name, own in runners.items()),
    ]


def installation_environment(nats_url: str) -> dict[str, str]:
    """What marks containers as this installation's, so that another on the same engine leaves them alone. Derived
    from the bus's password, which a runner elsewhere knows as well."""
    password = urlsplit(nats_url).password
    if password is None or "PROCTOR_INSTALLATION" in os.environ:
        return {}
    return {"PROCTOR_INSTALLATION": hashlib.sha256(password.encode()).hexdigest()[:12]}


def runner_environment(backend: Backend, capacity: int | None, name: str | None) -> dict[str, str]:
    chosen = {"PROCTOR_BACKEND": backend, "PROCTOR_RUNNER_CAPACITY": capacity, "PROCTOR_RUNNER_NAME": name}
    return {key: str(value) for key, value in chosen.items() if value is not None}


def _program(home: Home, name: str, module: str, env: Mapping[str, str]) -> Program:
    ready_file = home.ready(name)

    async def ready() -> bool:
        return ready_file.exists()

    return Program(
        name,
        (sys.executable, "-m", module),
        {**env, "PROCTOR_READY_FILE": str(ready_file)},
        ready,
        tier=_TIER.get(name, 1),
    )
