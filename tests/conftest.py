"""A platform of real processes that a test can kill, freeze and start again one by one."""

import asyncio
import os
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg
import docker
import httpx
import psutil
import pytest
from nats.aio.client import Client

from proctor.contracts import subjects
from proctor.contracts.config import RunConfig
from proctor.contracts.events import AttemptGraded, RunSubmitted, StopRequested, Synced
from proctor.contracts.folds.run import RunState, apply
from proctor.contracts.manifest import Manifest
from proctor.contracts.records import Recorded
from proctor.contracts.states import AttemptStatus
from proctor.eventlog import EventLog, connect, ensure_streams
from proctor.objects import Objects
from proctor.tasks import pack_dataset

CORE = ("registry_sync", "scheduler", "sandbox_runner", "grader")


@dataclass
class Platform:
    """`processes` by the name they were started under; `leave` what is checked to be gone at the end."""

    home: Path
    nats: Any
    backend: str
    database_url: str = ""
    installation: str = field(default_factory=lambda: f"test-{uuid.uuid4().hex[:8]}")
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    connection: Client | None = None

    # processes

    def start(self, service: str, name: str | None = None, **settings: str) -> None:
        name = name or service
        env = {
            **os.environ,
            "PROCTOR_NATS_URL": self.nats.url,
            "PROCTOR_DATABASE_URL": self.database_url,
            "PROCTOR_HOME": str(self.home),
            "PROCTOR_BACKEND": self.backend,
            "PROCTOR_INSTALLATION": self.installation,
            "PROCTOR_LOG_FORMAT": "text",
            "PROCTOR_RUNNER_CAPACITY": "4",
            **{f"PROCTOR_{key.upper()}": value for key, value in settings.items()},
        }
        with (self.home / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", f"proctor.{service}"], env=env, stderr=log, stdout=log
            )

    def signal(self, name: str, number: int) -> None:
        self.processes[name].send_signal(number)

    def kill(self, name: str) -> None:
        process = self.processes.pop(name)
        process.kill()
        process.wait(10)

    def stop(self) -> None:
        for process in self.processes.values():
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
                process.terminate()
        for name, process in self.processes.items():
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                pytest.fail(f"{name} did not stop within 20 s:\n{self.logs(name)}")
        self.processes.clear()

    def logs(self, name: str) -> str:
        return (self.home / f"{name}.log").read_text()[-4000:]

    # the log

    @property
    def bus(self) -> Client:
        assert self.connection is not None
        return self.connection

    async def open(self) -> None:
        self.connection = await connect(self.nats.url, "test")
        await ensure_streams(self.bus)

    async def synced(self, benchmark: str = "first-steps") -> Synced:
        async for batch in EventLog(self.bus, "test").follow(f"ev.*.benchmark.{benchmark}.>"):
            for record in batch:
                if isinstance(record.event, Synced):
                    return record.event
        raise AssertionError("unreachable")

    async def submit(
        self,
        agents: list[dict[str, Any]],
        *,
        execution: Mapping[str, Any] | None = None,
        tasks: Mapping[str, Any] | None = None,
        benchmark: str = "first-steps",
    ) -> str:
        """As the gateway does it: the event that starts everything."""
        version, run = await self.synced(benchmark), uuid.uuid4().hex
        config = RunConfig.model_validate(
            {
                "experiment": {"benchmark": benchmark},
                "agents": agents,
                "execution": dict(execution or {}),
                "tasks": dict(tasks or {}),
            }
        )
        submitted = RunSubmitted(
            run=run,
            name=f"test-run-{run[:6]}",
            benchmark=benchmark,
            benchmark_key=benchmark,
            benchmark_name=benchmark,
            version=version.version,
            manifest=version.manifest,
            pass_threshold="1.0",
            config=config,
            submitted_by="tester",
        )
        await EventLog(self.bus, "gateway").append(submitted, workspace="default", aggregate="run", id=run, alone=True)
        return run

    async def ask_stop(self, run: str) -> None:
        await EventLog(self.bus, "gateway").append(
            StopRequested(reason="asked by the test", requested_by="tester"),
            workspace="default",
            aggregate="run",
            id=run,
        )

    async def manifest(self, benchmark: str = "first-steps") -> Manifest:
        data = await Objects(self.bus).get((await self.synced(benchmark)).manifest)
        return Manifest.model_validate_json(data)

    async def until(self, run: str, happened: Callable[[RunState, Recorded], bool], seconds: float = 90) -> RunState:
        """Follow a run until something happened in it."""
        state = RunState("default", run)
        try:
            async with asyncio.timeout(seconds):
                async for batch in EventLog(self.bus, "test").follow(subjects.run_events("default", run)):
                    for record in batch:
                        apply(state, record)
                        if happened(state, record):
                            return state
        except TimeoutError:
            where = dict(state.tally)
            ended = {AttemptStatus.PASSED, AttemptStatus.FAILED}
            open_ones = "\n".join(str(one) for one in state.attempts.values() if one.status not in ended)
            logs = "\n".join(f"== {path.name}\n{path.read_text()[-3000:]}" for path in self.home.glob("*.log"))
            pytest.fail(f"not within {seconds} s; the run is {state.status} with {where}\n{open_ones}\n{logs}")
        raise AssertionError("unreachable")

    async def graded(self, run: str, count: int) -> RunState:
        seen: Counter[str] = Counter()

        def enough(_: RunState, record: Recorded) -> bool:
            seen["graded"] += isinstance(record.event, AttemptGraded)
            return seen["graded"] >= count

        return await self.until(run, enough)

    async def until_all(self, run: str, statuses: set[AttemptStatus], count: int) -> list[str]:
        """The keys of `count` attempts that are in one of the statuses at once."""

        def there(state: RunState) -> list[str]:
            return [key for key, attempt in state.attempts.items() if attempt.status in statuses]

        return there(await self.until(run, lambda state, _: len(there(state)) >= count))

    async def ended(self, run: str, seconds: float = 120) -> RunState:
        return await self.until(run, lambda state, _: state.ended, seconds)

    async def cleaned(self, run: str, seconds: float = 120) -> RunState:
        return await self.until(run, lambda state, _: state.cleaned, seconds)

    # what is left

    def containers(self) -> list[str]:
        client = docker.from_env()
        try:
            label = f"proctor.installation={self.installation}"
            return [str(each.name) for each in client.containers.list(all=True, filters={"label": label})]
        finally:
            client.close()

    def left(self) -> list[str]:
        """Sandboxes that are still there after a moment's grace: the kernel takes one to end what was killed."""
        deadline = time.monotonic() + 5
        while True:
            left = self.sandbox_processes() + (self.containers() if self.backend == "docker" else [])
            if not left or time.monotonic() > deadline:
                return left
            time.sleep(0.2)

    def sandbox_processes(self) -> list[str]:
        """bubblewrap processes that name this home, with what they run."""
        found = []
        for process in psutil.process_iter(["name", "cmdline"]):
            line = " ".join(process.info["cmdline"] or ())
            if process.info["name"] == "bwrap" and str(self.home) in line:
                found.append(line[:200])
        return found


@pytest.fixture
async def platform(tmp_path: Path, nats_server: Any, request: pytest.FixtureRequest) -> AsyncIterator[Platform]:
    """NATS with streams and nothing running yet. Parametrise indirectly with a back end's name."""
    home = tmp_path / "home"
    home.mkdir()
    made = Platform(home, nats_server, getattr(request, "param", "bubblewrap"))
    await made.open()
    yield made
    made.stop()
    await made.bus.close()


@pytest.fixture
def core(platform: Platform) -> Platform:
    """The platform with the services that a run needs."""
    for service in CORE:
        platform.start(service)
    return platform


def expected(manifest: Manifest, agents: list[str], attempts: int) -> dict[str, AttemptStatus]:
    """What first-steps gives: the oracle passes everything, doing nothing fails everything."""
    outcome = {"oracle": AttemptStatus.PASSED, "nop": AttemptStatus.FAILED}
    return {
        f"{agent}-{task}-{number}": outcome[harness]
        for agent, harness in enumerate(agents)
        for task in range(len(manifest.tasks))
        for number in range(1, attempts + 1)
    }


@pytest.fixture
def check_exact() -> Callable[..., Any]:
    """The run finished with each result once, as expected, and left nothing behind."""

    async def check(platform: Platform, run: str, agents: list[str], attempts: int) -> RunState:
        state = await platform.cleaned(run)
        outcomes = {key: attempt.status for key, attempt in state.attempts.items()}
        wanted = expected(await platform.manifest(), agents, attempts)
        wrong = {key: (outcomes.get(key), status) for key, status in wanted.items() if outcomes.get(key) != status}
        problems = {key: (state.attempt(key).kind, state.attempt(key).message) for key in wrong}
        assert not wrong, f"{wrong}\n{problems}"
        assert state.status == "finished"
        assert not state.abandoned
        assert await asyncio.to_thread(platform.left) == []
        return state

    return check


@pytest.fixture
async def rows() -> Callable[..., Any]:
    async def fetch(url: str, query: str, *arguments: object) -> list[dict[str, Any]]:
        connection = await asyncpg.connect(url)
        try:
            return [dict(row) for row in await connection.fetch(query, *arguments)]
        finally:
            await connection.close()

    return fetch


@pytest.fixture
async def full(platform: Platform, database_url: str, free_port: int) -> AsyncIterator[httpx.AsyncClient]:
    """The whole platform, and a client of its gateway that is the owner. `full.platform` kills and starts."""
    platform.database_url = database_url
    for service in (*CORE, "leaderboard"):
        platform.start(service)
    platform.start("gateway", port=str(free_port))
    url = f"http://127.0.0.1:{free_port}"
    token = platform.home / "token"
    async with asyncio.timeout(40), httpx.AsyncClient(base_url=url) as probe:
        while True:
            with suppress(httpx.TransportError):
                if token.exists() and (await probe.get("/readyz")).status_code == 200:
                    break
            await asyncio.sleep(0.1)
    headers = {"Authorization": f"Bearer {token.read_text().strip()}"}
    async with httpx.AsyncClient(base_url=f"{url}/api/v1", headers=headers, timeout=60) as client:
        async with asyncio.timeout(40):
            while (await client.get("/benchmarks/first-steps")).json().get("status") != "ready":
                await asyncio.sleep(0.1)
        yield client


@pytest.fixture
def add_benchmark(full: httpx.AsyncClient) -> Callable[..., Any]:
    """Pack a folder, upload it, wait for the sync."""

    async def add(root: Path, key: str) -> dict[str, Any]:
        upload = await full.post("/uploads", content=pack_dataset(root), headers={"Content-Type": "application/gzip"})
        assert upload.status_code == 201, upload.text
        source = {"kind": "upload", "object": upload.json()["object"], "origin": str(root.name)}
        added = await full.post("/benchmarks", json={"key": key, "name": key, "source": source})
        assert added.status_code == 201, added.text
        async with asyncio.timeout(60):
            while True:
                found = (await full.get(f"/benchmarks/{added.json()['id']}")).json()
                if found["status"] in {"ready", "failed"}:
                    return found
                await asyncio.sleep(0.1)

    return add


@pytest.fixture
def run_to_end(full: httpx.AsyncClient) -> Callable[..., Any]:
    """Submit, wait for the end, and give the results by (task, agent)."""

    async def run(body: dict[str, Any], seconds: float = 150) -> tuple[dict[str, Any], dict[tuple[str, int], Any]]:
        submitted = await full.post("/runs", json=body)
        assert submitted.status_code == 201, submitted.text
        identifier = submitted.json()["id"]
        async with asyncio.timeout(seconds):
            while True:
                found = (await full.get(f"/runs/{identifier}")).json()
                if found["cleaned_at"]:
                    break
                await asyncio.sleep(0.2)
        results = (await full.get(f"/runs/{identifier}/results", params={"limit": 200})).json()["items"]
        return found, {(result["task_name"], result["agent"]): result for result in results}

    return run
