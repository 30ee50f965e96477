"""The words the runner uses for sandboxes, whatever provides them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

MEBIBYTE = 1 << 20
MAX_OUTPUT = 4 * MEBIBYTE
DEFAULT_DISK_MB = 10_240
LOG_DIRECTORIES = ("/logs/agent", "/logs/verifier", "/logs/artifacts")


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """What one sandbox is made of.

    `environment` is the task's environment/ folder and `environment_digest` its content's name: one image per
    digest. `image` (the task's docker_image) wins over building. `lifetime` is the backstop in seconds after
    which an orphan removes itself. `user` and `workdir` default to the image's.
    """

    id: str
    environment: Path
    environment_digest: str
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    image: str | None = None
    build_timeout: float = 600.0
    workdir: str | None = None
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    cpus: float | None = None
    memory_mb: int | None = None
    pids: int = 1024
    disk_mb: int = DEFAULT_DISK_MB
    network: Literal["public", "none"] = "public"
    lifetime: float = 86_400.0
    user: str | None = None


@dataclass(frozen=True, slots=True)
class ExecResult:
    """`returncode` is None when the command was cut off by its timeout; 137 when something killed it."""

    returncode: int | None
    timed_out: bool
    stdout: bytes
    stderr: bytes
    truncated: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class Baseline:
    """The processes alive at one moment, as `pid:start time`."""

    processes: frozenset[str]


class Usage(NamedTuple):
    """Of a sandbox, since it was started. None where it can't be read."""

    cpu_seconds: float | None = None
    memory_peak_bytes: int | None = None


class Sandbox(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def backend(self) -> str: ...
    @property
    def image(self) -> str:
        """The image's id, or "host" when the host's own files are used."""
        ...

    @property
    def workdir(self) -> str: ...

    async def exec(
        self,
        command: str,
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        user: str | None = None,
        timeout: float | None,  # noqa: ASYNC109 - the deadline ends the command in the sandbox, not just the wait
        max_output: int = MAX_OUTPUT,
    ) -> ExecResult:
        """Run a shell command with stdin closed; cancelling the call kills the command and all it started.

        `max_output` bounds stdout and stderr each, in bytes; 0 drops both unseen, which is much quicker. Services
        the command leaves running survive a normal end.
        """
        ...

    async def put(self, source: bytes, target_dir: str) -> None:
        """Extract a tar into `target_dir`, made when missing; files become the sandbox root's."""
        ...

    async def get(self, path: str, max_bytes: int) -> bytes:
        """A tar of a folder's content, or of one file; FileNotFoundError when it isn't there.

        The tar comes from an untrusted place: extract it with `filter="data"`.
        """
        ...

    async def read(self, path: str, max_bytes: int) -> bytes | None:
        """A regular file's content; None when there is no such file."""
        ...

    async def snapshot(self) -> Baseline: ...

    async def quiesce(self, baseline: Baseline) -> int:
        """Kill every process that wasn't alive at the baseline; return how many."""
        ...

    async def facts(self) -> dict[str, object]:
        """What is known about its end: `alive`, `oom_killed`, and what else the back end can tell."""
        ...

    async def usage(self) -> Usage:
        """What it used since it was started. Never raises, and changes nothing in it."""
        ...

    async def stop(self) -> None:
        """Remove it with all that is in it; once more is no error."""
        ...


class Backend(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def trusted_only(self) -> bool:
        """True when it only keeps honest agents apart, and doesn't hold a hostile one."""
        ...

    async def prepare(self, spec: SandboxSpec) -> None:
        """Build or pull the image, once per environment digest however many callers ask at once."""
        ...

    async def start(self, spec: SandboxSpec) -> Sandbox: ...

    async def adopt(self, sandbox_id: str) -> Sandbox | None:
        """Take over a sandbox that an earlier process of this runner started; None when there is none."""
        ...

    async def sweep(self, keep: Collection[str]) -> list[str]:
        """Remove this installation's sandboxes of this host that `keep` doesn't name; return their ids."""
        ...

    async def remove(self, labels: Mapping[str, str]) -> list[str]:
        """Remove this installation's sandboxes that carry all these labels; return their ids."""
        ...

    async def found(self) -> list[Mapping[str, str]]:
        """The labels of this installation's sandboxes that outlive their runner, whoever started them."""
        ...

    async def close(self) -> None:
        """Let go of connections; sandboxes stay."""
        ...
