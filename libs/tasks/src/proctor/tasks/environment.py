"""The `[environment]` table of task.toml: image, resources, network, MCP servers, health check."""

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, Self, cast

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from proctor.tasks.allowlist import normalise_hosts
from proctor.tasks.table import Table
from proctor.tasks.variables import header_problem

NetworkMode = Literal["public", "no-network", "allowlist"]
Os = Literal["linux", "windows"]
Hosts = Annotated[tuple[str, ...], AfterValidator(normalise_hosts)]

_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_TOPOLOGY: Final = re.compile(r"[1-9]\d*(x[1-9]\d*)+")
_MEGABYTES: Final[Mapping[str, float]] = {"G": 1024, "M": 1, "K": 1 / 1024}


class HealthcheckConfig(Table):
    command: str
    interval_sec: float = 5.0
    timeout_sec: float = 30.0
    start_period_sec: float = 0.0
    start_interval_sec: float = 5.0
    retries: int = 3


class TpuSpec(Table):
    type: str = Field(min_length=1)
    topology: str

    @field_validator("topology")
    @classmethod
    def _shape(cls, value: str) -> str:
        if not _TOPOLOGY.fullmatch(value.strip()):
            raise ValueError(f"{value!r} is not a TPU topology; write it as '2x4' or '2x2x1'")
        return value.strip()


class McpServerConfig(Table):
    name: str
    transport: Annotated[
        Literal["stdio", "sse", "streamable-http"],
        BeforeValidator(lambda value: "streamable-http" if value == "http" else value),
    ] = "sse"
    url: str | None = None
    command: str | None = None
    args: tuple[str, ...] = ()
    headers: dict[str, str] = Field(default_factory=dict[str, str], exclude_if=lambda headers: not headers)

    @field_validator("headers")
    @classmethod
    def _credentials_are_references(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            if not _HEADER.fullmatch(name):
                raise ValueError(f"{name!r} is not an HTTP header name")
            if problem := header_problem(name, value):
                raise ValueError(f"header {name!r} {problem}")
        return headers

    @model_validator(mode="after")
    def _transport_has_its_fields(self) -> Self:
        if self.transport == "stdio":
            if not self.command:
                raise ValueError("transport 'stdio' needs a command")
            if self.headers:
                raise ValueError("headers are for the HTTP transports; remove them for 'stdio'")
        elif not self.url:
            raise ValueError(f"transport {self.transport!r} needs a url")
        return self


def _network_mode(data: dict[str, Any]) -> NetworkMode:
    denied = data.get("allow_internet") is False and data.get("allowed_hosts") is None
    return "no-network" if denied else "public"


class EnvironmentConfig(Table):
    legacy_keys: ClassVar[frozenset[str]] = frozenset({"memory", "storage"})

    # Fields are validated in this order: the network mode's default depends on the two before it.
    allow_internet: bool | None = Field(default=None, exclude=True, repr=False)
    allowed_hosts: Hosts | None = None
    network_mode: NetworkMode = Field(default_factory=_network_mode)
    build_timeout_sec: float = 600.0
    docker_image: str | None = None
    os: Annotated[Os, BeforeValidator(lambda value: value.lower() if isinstance(value, str) else value)] = "linux"
    cpus: int | float | None = None
    memory_mb: int | None = None
    storage_mb: int | None = None
    gpus: int | None = None
    gpu_types: tuple[str, ...] | None = None
    tpu: TpuSpec | None = None
    mcp_servers: tuple[McpServerConfig, ...] = ()
    env: dict[str, str] = Field(default_factory=dict[str, str])
    skills_dir: str | None = None
    healthcheck: HealthcheckConfig | None = None
    workdir: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _sizes_in_megabytes(cls, data: object) -> object:
        if not isinstance(data, dict):
            return data
        table = dict(cast("dict[str, object]", data))
        for old, new in (("memory", "memory_mb"), ("storage", "storage_mb")):
            size = table.pop(old, None)
            if isinstance(size, str):
                megabytes = _megabytes(old, size)
                if table.setdefault(new, megabytes) != megabytes:
                    raise ValueError(f"{old} = {size!r} and {new} = {table[new]!r} disagree; keep {new}")
        return table

    @field_validator("cpus")
    @classmethod
    def _finite(cls, value: float | None) -> float | None:
        if not isinstance(value, float):
            return value
        if not math.isfinite(value):
            raise ValueError("must be a finite number")
        return int(value) if value.is_integer() else value

    @model_validator(mode="after")
    def _hosts_need_allowlist(self) -> Self:
        if self.allowed_hosts and self.network_mode != "allowlist":
            raise ValueError("allowed_hosts needs network_mode = 'allowlist'; set it, or remove allowed_hosts")
        return self


def _megabytes(key: str, written: str) -> int:
    size = written.strip().upper()
    try:
        return int(float(size[:-1]) * _MEGABYTES[size[-1:]])
    except (KeyError, ValueError, OverflowError):
        raise ValueError(f"{key} = {written!r} is not a size; write it as '2G' or '512M', or use {key}_mb") from None
