"""A runner over real bubblewrap sandboxes and the real bus. The scheduler's and the vault's answers are the test's."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from proctor.contracts import subjects
from proctor.contracts.events import AttemptDispatched, Event
from proctor.contracts.ids import sandbox_id
from proctor.contracts.messages import (
    Held,
    LeaseAnswer,
    SandboxAnswer,
    SandboxCall,
    SandboxRequest,
    VaultAnswer,
)
from proctor.contracts.work import AgentRef, AttemptWork, TaskRef
from proctor.eventlog import EventLog
from proctor.objects import Objects
from proctor.sandbox_runner.attempt import Try
from proctor.sandbox_runner.backends import Backends
from proctor.sandbox_runner.outside import Outside
from proctor.sandbox_runner.runner import Runner
from proctor.sandbox_runner.sandbox.bubblewrap_backend import BubblewrapBackend
from proctor.sandbox_runner.sandbox.cgroup import open_group
from proctor.sandbox_runner.sandbox.protocol import Sandbox, SandboxSpec
from proctor.service.identity import claim_identity
from proctor.tasks import Task, load_task, pack_task, task_digest

type MakeTask = Callable[..., Path]

SCRIPT = "#!/bin/bash\n"
LEAST: Mapping[str, str] = {
    "task.toml": "[agent]\ntimeout_sec = 20\n[environment]\nnetwork_mode = 'no-network'\nmemory_mb = 512\n",
    "instruction.md": "Make the file done.\n",
    "environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\n",
    "tests/test.sh": SCRIPT + "[[ -f done ]] && echo 1 >/logs/verifier/reward.txt\n",
    "solution/solve.sh": SCRIPT + "echo solving; touch done\n",
}


@pytest.fixture
def make_task(tmp_path: Path) -> MakeTask:
    """`make_task({path: text or None})`: the least task there is, with files added, replaced or left out."""

    def make(files: Mapping[str, str | None] | None = None, *, toml: str = "") -> Path:
        root = tmp_path / "tasks" / f"t-{uuid.uuid4().hex[:8]}"
        for path, text in {**LEAST, **(files or {})}.items():
            if text is not None:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
        (root / "task.toml").write_text(toml + (root / "task.toml").read_text())
        return root

    return make


@pytest.fixture
def a_task(make_task: MakeTask) -> Callable[..., Task]:
    def load(files: Mapping[str, str | None] | None = None, *, toml: str = "") -> Task:
        return load_task(make_task(files, toml=toml))

    return load


@pytest.fixture
def measured() -> bool:
    """Whether this host lets what a bubblewrap sandbox uses be measured."""
    group = open_group("proctor-test-measured")
    if group is not None:
        group.remove()
    return group is not None


@pytest.fixture
async def bubblewrap(tmp_path: Path) -> AsyncIterator[BubblewrapBackend]:
    backend = BubblewrapBackend(tmp_path / "bubblewrap")
    yield backend
    await backend.close()


@pytest.fixture
async def box(bubblewrap: BubblewrapBackend, tmp_path: Path) -> Sandbox:
    """One running sandbox with the working directory /app."""
    environment = tmp_path / "environment"
    environment.mkdir()
    (environment / "Dockerfile").write_text(LEAST["environment/Dockerfile"])
    spec = SandboxSpec(
        id=f"s-{uuid.uuid4().hex[:10]}",
        environment=environment,
        environment_digest=f"sha256:{uuid.uuid4().hex * 2}",
        network="none",
        memory_mb=1024,
        disk_mb=1024,
    )
    return await bubblewrap.start(spec)


@dataclass
class Stage:
    """`granted`: what the scheduler says to every request for a lease. `values`: the vault's, None for a refusal."""

    bus: Client
    workspace: str
    outside: Outside
    runner: Runner
    backend: BubblewrapBackend
    granted: bool = True
    values: dict[str, str] | None = field(default_factory=dict[str, str])

    async def listen(self) -> None:
        async def lease(message: Msg) -> None:
            await message.respond(LeaseAnswer(granted=self.granted).model_dump_json().encode())

        async def vault(message: Msg) -> None:
            error = "no secret" if self.values is None else None
            await message.respond(VaultAnswer(values=self.values, error=error).model_dump_json().encode())

        await self.bus.subscribe(subjects.lease_start(self.outside.worker), cb=lease)
        await self.bus.subscribe(subjects.vault_resolve(self.outside.worker), cb=vault)

    async def work(
        self, task: Path, harness: str = "oracle", *, attempt: str = "0-0-1", epoch: int = 1, package: str = ""
    ) -> AttemptWork:
        objects = Objects(self.bus)
        name = package or await objects.put_once("task", pack_task(task))
        return AttemptWork(
            workspace=self.workspace,
            run=uuid.uuid4().hex,
            run_name="calm-otter",
            attempt=attempt,
            epoch=epoch,
            task=TaskRef(name=task.name, digest=task_digest(task), package=name),
            agent=AgentRef(index=0, harness=harness),
            literals=("PROCTOR_COMMAND",) if harness == "command" else (),
            timeout_multiplier=1,
            lifetime=600,
        )

    async def take(self, work: AttemptWork) -> Try:
        """As the queue does it: claim, then ask for the lease."""
        one = await self.runner.claim(AttemptDispatched(attempt=work.attempt, epoch=work.epoch, pool="p", work=work))
        assert one is not None
        await self.runner.start(one)
        return one

    async def events(self, work: AttemptWork) -> list[Event]:
        log = EventLog(self.bus, "test")
        return [record.event async for record in log.read(subjects.run_events(work.workspace, work.run))]

    async def types(self, work: AttemptWork) -> list[str]:
        return [event.type.removeprefix("attempt.") for event in await self.events(work)]

    async def until(self, work: AttemptWork, kind: type[Event]) -> Event:
        """The first event of that class, within 20 s."""
        async with asyncio.timeout(20):
            async for batch in EventLog(self.bus, "test").follow(subjects.run_events(work.workspace, work.run)):
                for record in batch:
                    if isinstance(record.event, kind):
                        return record.event
        raise AssertionError("unreachable")

    async def call(self, work: AttemptWork, request: SandboxRequest, wait: float = 15) -> SandboxAnswer:
        return await self.call_sandbox(sandbox_id(work.run, work.attempt, work.epoch), request, wait)

    async def call_sandbox(self, sandbox: str, request: SandboxRequest, wait: float = 15) -> SandboxAnswer:
        payload = SandboxCall(request=request, wait=wait).model_dump_json().encode()
        reply = await self.bus.request(subjects.sandbox(sandbox, request.op), payload, timeout=20)
        return SandboxAnswer.model_validate_json(reply.data)

    def held(self) -> list[Held]:
        """What the runner says that it holds."""
        return list(self.runner.beat("0", "p").held)


@pytest.fixture
async def make_stage(bus: Client, workspace: str, tmp_path: Path) -> AsyncIterator[Callable[..., object]]:
    made: list[Stage] = []

    async def make(capacity: int = 4, home: Path = tmp_path / "home") -> Stage:
        identity = claim_identity(home, "runner", f"r{len(made)}", workspace)
        backend = BubblewrapBackend(identity.folder / "bubblewrap")
        outside = Outside(bus, identity, home, Backends(backend, "the test asks for it", None))
        stage = Stage(bus, workspace, outside, Runner(identity, "here", capacity, outside), backend)
        await stage.listen()
        made.append(stage)
        return stage

    yield make
    for stage in made:
        await stage.runner.stop()
        await stage.outside.backends.close()
        stage.runner.identity.lock.close()


@pytest.fixture
async def stage(make_stage: Callable[..., object]) -> Stage:
    return await make_stage()  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]
