"""Settings from `PROCTOR_*`, read once at the start of a process."""

import os
import socket
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


def default_home() -> Path:
    if os.geteuid() == 0:
        return Path("/var/lib/proctor")
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "proctor"


class Settings(BaseSettings):
    """What services share; a service adds its own by subclassing."""

    model_config = SettingsConfigDict(env_prefix="PROCTOR_", frozen=True, extra="ignore")

    home: Path = Field(default_factory=default_home)
    nats_url: str = "nats://127.0.0.1:4222"
    database_url: str = ""
    installation: str = "default"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "text"] = "json"
    ready_file: Path | None = None

    @cached_property
    def host(self) -> str:
        return socket.gethostname()
