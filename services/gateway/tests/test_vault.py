"""The vault: sealing, who may have what, and the answer over the bus."""

import asyncio
import json
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nats.aio.client import Client
from pydantic import SecretStr

from proctor.contracts.config import Agent, Experiment, RunConfig
from proctor.contracts.events import (
    AgentFinished,
    AgentStarted,
    AttemptClaimed,
    AttemptDispatched,
    Event,
    GradeClaimed,
    GradeDispatched,
    LeaseLost,
    RunCleaned,
    RunPlanned,
    RunStopped,
    RunSubmitted,
    SandboxReady,
)
from proctor.contracts.folds.run import RunState, apply
from proctor.contracts.manifest import Manifest
from proctor.contracts.messages import Held, VaultAnswer, VaultRequest
from proctor.contracts.records import Recorded
from proctor.contracts.work import AgentRef, AttemptWork, GradeWork, TaskRef
from proctor.eventlog import EventLog
from proctor.gateway.vault import eraser, keys, values
from proctor.gateway.vault.cipher import Sealer, WrongKey
from proctor.gateway.vault.keys import UnusableKey, load_ring
from proctor.gateway.vault.resolver import refusal
from proctor.service.postgres import open_pool

TASK = TaskRef(name="acme/sort-numbers", digest="sha256:0", package="package/0")
ATTEMPT = "0-0-1"


def dispatched(run: str, workspace: str, epoch: int = 1) -> AttemptDispatched:
    work = AttemptWork(
        workspace=workspace,
        run=run,
        run_name="calm-otter",
        attempt=ATTEMPT,
        epoch=epoch,
        task=TASK,
        agent=AgentRef(index=0, harness="command", model=None),
        timeout_multiplier=1,
        lifetime=600,
    )
    return AttemptDispatched(attempt=ATTEMPT, epoch=epoch, pool="default", work=work)


def planned() -> RunPlanned:
    return RunPlanned(
        lock="lock/0",
        task_set="full",
        agents=1,
        tasks=1,
        attempts_per_task=1,
        max_concurrent_attempts=4,
        max_retries=0,
    )


def claimed(worker: str, epoch: int = 1) -> AttemptClaimed:
    return AttemptClaimed(attempt=ATTEMPT, epoch=epoch, worker=worker, incarnation="i", host="h")


def submitted() -> RunSubmitted:
    config = RunConfig(experiment=Experiment(benchmark="b"), agents=[Agent(harness="command")])
    return RunSubmitted(
        run="r",
        name="calm-otter",
        benchmark="b",
        benchmark_key="k",
        benchmark_name="n",
        version="v",
        manifest="m",
        pass_threshold="1",
        config=config,
        submitted_by="owner",
    )


AGENT_OVER: list[Event] = [
    SandboxReady(attempt=ATTEMPT, epoch=1, sandbox="s", backend="bubblewrap", image="i", seconds=0.1),
    AgentStarted(attempt=ATTEMPT, epoch=1),
    AgentFinished(attempt=ATTEMPT, epoch=1, seconds=1),
]
GRADING: list[Event] = [
    GradeDispatched(
        attempt=ATTEMPT,
        epoch=1,
        pool="default",
        round=1,
        work=GradeWork(
            workspace="w",
            run="r",
            attempt=ATTEMPT,
            epoch=1,
            round=1,
            sandbox="s",
            runner="runner-1",
            task=TASK,
            step=None,
            timeout_multiplier=1,
            threshold="1",
            reward_key=None,
        ),
    ),
    GradeClaimed(attempt=ATTEMPT, epoch=1, round=1, worker="grader-1", incarnation="i"),
]
LOST: list[Event] = [LeaseLost(attempt=ATTEMPT, epoch=1, worker="runner-1", reason="silent")]
AGAIN: list[Event] = [dispatched("r", "w", 2), claimed("runner-2", 2)]
STOPPED: list[Event] = [RunStopped(reason="asked")]


def state_after(*events: Event) -> RunState:
    state = RunState(workspace="w", run="r")
    head: list[Event] = [submitted(), planned(), dispatched("r", "w"), claimed("runner-1")]
    for sequence, event in enumerate([*head, *events], start=1):
        record = Recorded(
            sequence=sequence,
            workspace="w",
            aggregate="run",
            id="r",
            writer="x",
            recorded_at=datetime.now(UTC),
            occurred_at=None,
            actor=None,
            event=event,
        )
        apply(state, record)
    return state


@pytest.mark.parametrize(
    ("events", "worker", "epoch", "given"),
    [
        ([], "runner-1", 1, True),
        ([], "runner-2", 1, False),
        ([], "runner-1", 2, False),
        (AGENT_OVER, "runner-1", 1, True),
        (AGENT_OVER, "grader-1", 1, False),
        ([*AGENT_OVER, *GRADING], "runner-1", 1, True),
        ([*AGENT_OVER, *GRADING], "grader-1", 1, True),
        ([*AGENT_OVER, *GRADING], "grader-2", 1, False),
        (LOST, "runner-1", 1, False),
        ([*LOST, *AGAIN], "runner-1", 1, False),
        ([*LOST, *AGAIN], "runner-1", 2, False),
        ([*LOST, *AGAIN], "runner-2", 2, True),
        (STOPPED, "runner-1", 1, False),
    ],
)
def test_only_the_holder_of_the_current_epoch_gets_it(
    events: list[Event], worker: str, epoch: int, given: bool
) -> None:
    held = Held(workspace="w", run="r", attempt=ATTEMPT, epoch=epoch)
    assert (refusal(state_after(*events), VaultRequest(held=held, worker=worker), worker) is None) is given


def test_a_worker_asks_for_itself() -> None:
    request = VaultRequest(held=Held(workspace="w", run="r", attempt=ATTEMPT, epoch=1), worker="runner-1")
    assert refusal(state_after(), request, "runner-2") is not None
    assert refusal(None, request, "runner-1") is not None


@given(st.binary(max_size=200))
def test_what_is_sealed_opens_with_the_same_key_at_the_same_place_alone(clear: bytes) -> None:
    sealer, other = Sealer(bytes(32)), Sealer(bytes(31) + b"\1")
    sealed = sealer.seal(clear, "here")
    assert sealer.open(sealed, "here") == clear
    assert sealer.seal(clear, "here") != sealed
    for wrong, place, text in (
        (other, "here", sealed),
        (sealer, "there", sealed),
        (sealer, "here", sealed[:-1] + bytes([sealed[-1] ^ 1])),
    ):
        with pytest.raises(WrongKey):
            wrong.open(text, place)


def test_the_key_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    ring = load_ring(None, None, tmp_path / "home")
    path = tmp_path / "home" / "vault.key"
    assert [len(key) for key in ring.keys] == [32]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_ring(None, None, tmp_path / "home") == ring
    assert load_ring(SecretStr(ring.keys[0].hex()), None, tmp_path).keys == ring.keys


def test_a_ring_turns_to_a_new_key_and_lets_go_of_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "vault.key"
    ring = load_ring(None, None, tmp_path)
    turning = keys.begin(ring, path)
    assert turning.keys[1:] == ring.keys
    assert load_ring(None, None, tmp_path) == turning
    assert keys.finish(turning, path).keys == turning.keys[:1]
    assert load_ring(None, None, tmp_path).keys == turning.keys[:1]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["vault.key"]


def test_a_ring_of_settings_seals_with_the_current_key() -> None:
    old, new = bytes(32), bytes(31) + b"\1"
    ring = load_ring(SecretStr(new.hex()), SecretStr(f"{old.hex()},{bytes(32).hex()}"), Path("/nowhere"))
    sealer = Sealer(*ring.keys)
    assert sealer.open(Sealer(old).seal(b"x", "here"), "here") == b"x"
    assert Sealer(new).open(sealer.seal(b"y", "here"), "here") == b"y"


@pytest.mark.parametrize("text", ["", "short", "00" * 31, "zz" * 32])
def test_a_key_of_another_size_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(UnusableKey, match="PROCTOR_VAULT_KEY"):
        load_ring(SecretStr(text), None, tmp_path)
    with pytest.raises(UnusableKey, match="PROCTOR_VAULT_OLD_KEYS"):
        load_ring(SecretStr("00" * 32), SecretStr(text or "-"), tmp_path)
    (tmp_path / "vault.key").write_text(text)
    with pytest.raises(UnusableKey, match=r"vault\.key"):
        load_ring(None, None, tmp_path)


async def ask(bus: Client, worker: str, held: Held) -> VaultAnswer:
    body = VaultRequest(held=held, worker=worker).model_dump_json().encode()
    answer = await bus.request(f"vault.resolve.{worker}", body, timeout=30)
    return VaultAnswer.model_validate_json(answer.data)


async def test_values_reach_the_holder_and_nothing_else(
    gateway: Any, projection: None, manifest: Manifest, bus: Client
) -> None:
    benchmark = await gateway.add_benchmark(manifest)
    await gateway.until(f"/api/v1/benchmarks/{benchmark}", status="ready")
    body = {
        "experiment_config": {"benchmark": benchmark},
        "agents": [{"harness": "command", "env": {"PROCTOR_COMMAND": "solve-4711", "A": "agent"}}],
        "tasks_config": {"task_names": ["acme/sort-numbers"]},
        "env_config": {"A": "run", "B": "literal-4711"},
        "secrets": {"required": ["TOKEN"], "provided": {"TOKEN": "secret-4711"}},
    }
    answer = await gateway.client.post("/api/v1/runs", json=body)
    assert answer.status_code == 201, answer.text
    run, workspace = answer.json()["id"], gateway.workspace
    records = [record async for record in gateway.log.read(f"ev.{workspace}.run.{run}.>")]
    assert "4711" not in records[0].event.model_dump_json()
    assert set(records[0].event.config.env) == {"A", "B"}
    for table in ("run_values", "run_secrets"):
        rows = await gateway.database.fetch(f"SELECT * FROM gateway.{table}")
        assert len(rows) == 1
        assert "4711" not in str(rows)
    assert "4711" not in (await gateway.client.get(f"/api/v1/runs/{run}")).text

    place: dict[str, Any] = {"workspace": workspace, "aggregate": "run", "id": run}
    scheduler, runner = EventLog(bus, "scheduler"), EventLog(bus, "runner-1")
    await gateway.plan(run, manifest)
    await scheduler.append(dispatched(run, workspace), suffix="default", **place)
    held = Held(workspace=workspace, run=run, attempt=ATTEMPT, epoch=1)
    assert (await ask(bus, "runner-1", held)).values is None
    await runner.append(claimed("runner-1"), **place)
    answer = await ask(bus, "runner-1", held)
    expected = {"PROCTOR_COMMAND": "solve-4711", "A": "agent", "B": "literal-4711", "TOKEN": "secret-4711"}
    assert answer.values == expected
    assert answer.versions == {"TOKEN": "run:1"}
    refused = await ask(bus, "runner-2", held)
    assert refused.values is None
    assert refused.error

    await scheduler.append(RunStopped(reason="asked"), **place)
    await scheduler.append(RunCleaned(), **place)
    async with asyncio.timeout(10):
        while await gateway.database.fetchval("SELECT count(*) FROM gateway.run_secrets"):
            await asyncio.sleep(0.05)
    pool = await open_pool(gateway.settings.database_url)
    sealer = Sealer(*load_ring(None, None, gateway.settings.home).keys)
    kept = await values.literals(pool, sealer, workspace, run)
    assert (kept.env, kept.agents) == (
        {"A": "run", "B": "literal-4711"},
        ({"PROCTOR_COMMAND": "solve-4711", "A": "agent"},),
    )
    assert await values.provided(pool, sealer, workspace, run) == {}
    await pool.close()


async def test_the_values_of_a_submit_that_died_go(
    gateway: Any, workspace: str, database_url: str, manifest: Manifest
) -> None:
    await gateway.insert_benchmark(manifest)
    body = {"experiment_config": {"benchmark": "acme/tiny"}, "agents": [{"harness": "oracle"}]}
    run = (await gateway.client.post("/api/v1/runs", json=body)).json()["id"]
    for table in ("run_values", "run_secrets"):
        await gateway.database.execute(
            f"INSERT INTO gateway.{table} (workspace, run, sealed, key_id, created_at) VALUES "
            "($1, 'old', '', '', now() - interval '1 hour'), ($1, 'young', '', '', now())",
            workspace,
        )
    old = "UPDATE gateway.run_values SET created_at = now() - interval '1 hour' WHERE run = $1"
    await gateway.database.execute(old, run)
    pool = await open_pool(database_url)
    await eraser.sweep(gateway.log, pool)
    await pool.close()
    for table, left in (("run_secrets", {"young"}), ("run_values", {"young", run})):
        assert {row["run"] for row in await gateway.database.fetch(f"SELECT run FROM gateway.{table}")} == left


async def test_rows_from_before_are_split(gateway: Any, workspace: str, database_url: str) -> None:
    """As the first version sealed them: both in one, under the run's place."""
    ring = load_ring(None, None, gateway.settings.home)
    both: dict[str, Any] = {"provided": {"K": "gone-later"}, "env": {"A": "b"}, "agents": [{"C": "d"}], "headers": [{}]}
    sealed = Sealer(*ring.keys).seal(json.dumps(both).encode(), f"run_values/{workspace}/r")
    old = "INSERT INTO gateway.run_values (workspace, run, sealed) VALUES ($1, 'r', $2)"
    await gateway.database.execute(old, workspace, sealed)
    pool, sealer = await open_pool(database_url), Sealer(*ring.keys)
    for _ in range(2):
        await values.split_old(pool, sealer)
        literals = await values.literals(pool, sealer, workspace, "r")
        assert literals.model_dump() == {"env": {"A": "b"}, "agents": ({"C": "d"},), "headers": ({},)}
        assert await values.provided(pool, sealer, workspace, "r") == {"K": "gone-later"}
    await pool.close()
