"""What a worker gets of the vault, try by try, and that a new key changes nothing about it."""

import asyncio
import base64
import contextlib
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from nats.aio.client import Client

from proctor.contracts.config import RunConfig
from proctor.contracts.manifest import Manifest, ManifestTask
from proctor.contracts.messages import Held, VaultAnswer, VaultRequest
from proctor.gateway.vault import keys
from proctor.gateway.vault.cipher import Sealer
from proctor.gateway.vault.keys import read_ring
from proctor.gateway.vault.lookup import Value
from proctor.gateway.vault.sealed import may_seal, place_of
from proctor.gateway.vault.wanted import answer, wanted

MODELS = [{"type": "provider", "model": "m", "api_key_secret": f"MODEL_{index}"} for index in range(2)]
CONFIG = RunConfig.model_validate(
    {
        "experiment": {"benchmark": "b"},
        "agents": [
            {"harness": "a", "model": MODELS[0], "harness_api_key_secret": "HARNESS", "env": {"LITERAL": "mine"}},
            {"harness": "b", "model": MODELS[1]},
        ],
        "env": {"LITERAL": "runs", "TASK_LITERAL": "l"},
        "secrets": {"required": ["TOKEN"]},
        "verifier": {"required": ["GRADER", "TOKEN"]},
        "execution": {"judge_api_key_secret": "JUDGE"},
    }
)
NEEDED = ("TASK_KEY", "TASK_LITERAL", "JUDGE", "MODEL_1", "TOKEN")


@pytest.mark.parametrize(
    ("agent", "grades", "set_", "readable", "named"),
    [
        (0, False, {"TOKEN", "MODEL_0", "HARNESS"}, {"TASK_KEY", "MODEL_1"}, {"TOKEN", "MODEL_0", "HARNESS"}),
        (1, False, {"TOKEN", "MODEL_1"}, {"TASK_KEY"}, {"TOKEN", "MODEL_1"}),
        (0, True, {"GRADER", "TOKEN", "JUDGE"}, {"TASK_KEY", "MODEL_1"}, {"GRADER", "TOKEN", "JUDGE"}),
    ],
)
def test_an_attempt_may_have_what_it_names(
    agent: int, grades: bool, set_: set[str], readable: set[str], named: set[str]
) -> None:
    asked = wanted(CONFIG, agent, NEEDED, grades=grades)
    assert (set(asked.set), set(asked.readable), asked.named) == (set_, readable, named)


def test_a_missing_secret_is_named_and_a_variable_of_the_task_may_lack() -> None:
    asked = wanted(CONFIG, 1, NEEDED, grades=False)
    told = answer(asked, {}, {"TOKEN": Value("v", "user:1")}, grades=False)
    assert told.values is None
    assert "MODEL_1" in (told.error or "")
    assert "TASK_KEY" not in (told.error or "")


class Attempt:
    """An attempt of a run that a runner holds and a grader then grades, and what each is answered."""

    def __init__(self, gateway: Any, bus: Client, run: str) -> None:
        self.gateway, self.bus, self.run, self.epoch = gateway, bus, run, 0

    async def begin(self, manifest: Manifest) -> None:
        """The first epoch, or one more after a lost lease."""
        self.epoch += 1
        about = {"attempt": "0-0-1", "epoch": self.epoch}
        pinned = manifest.tasks[0].model_dump(include={"name", "digest", "package"})
        work = {"workspace": self.gateway.workspace, "run": self.run, "run_name": "n", **about, "task": pinned}
        work |= {"agent": {"index": 0, "harness": "oracle"}, "timeout_multiplier": 1.0, "lifetime": 60}
        await self.says("scheduler", {"type": "attempt.dispatched", "pool": "default", "work": work, **about})
        await self.says(
            "runner-1", {"type": "attempt.claimed", "worker": "runner-1", "incarnation": "i", "host": "h", **about}
        )

    async def lose(self) -> None:
        about = {"attempt": "0-0-1", "epoch": self.epoch}
        await self.says("scheduler", {"type": "attempt.lease_lost", "worker": "runner-1", "reason": "silent", **about})

    async def grade(self, manifest: Manifest) -> None:
        about = {"attempt": "0-0-1", "epoch": self.epoch}
        pinned = manifest.tasks[0].model_dump(include={"name", "digest", "package"})
        work = {"workspace": self.gateway.workspace, "run": self.run, **about, "task": pinned, "round": 1}
        work |= {"sandbox": "s", "runner": "runner-1", "timeout_multiplier": 1.0, "threshold": "1"}
        ready = {"sandbox": "s", "backend": "bubblewrap", "image": "host", "seconds": 0.1}
        await self.says("runner-1", {"type": "attempt.sandbox_ready", **ready, **about})
        await self.says("runner-1", {"type": "attempt.agent_started", **about})
        await self.says("runner-1", {"type": "attempt.agent_finished", "seconds": 1.0, **about})
        dispatched = {"type": "grade.dispatched", "pool": "default", "round": 1, "work": work, **about}
        await self.says("scheduler", dispatched)
        await self.says(
            "grader-1", {"type": "grade.claimed", "round": 1, "worker": "grader-1", "incarnation": "i", **about}
        )

    async def says(self, writer: str, event: dict[str, Any]) -> None:
        await self.gateway.append(self.run, writer, event)

    async def asks(self, worker: str = "runner-1") -> VaultAnswer:
        held = Held(workspace=self.gateway.workspace, run=self.run, attempt="0-0-1", epoch=self.epoch)
        body = VaultRequest(held=held, worker=worker).model_dump_json().encode()
        return VaultAnswer.model_validate_json(
            (await self.bus.request(f"vault.resolve.{worker}", body, timeout=30)).data
        )


@pytest.fixture
def manifest() -> Manifest:
    task = {"name": "t", "digest": "sha256:0", "package": "package/0", "environment_digest": "sha256:1"}
    task |= {"needed_variables": ("TASK_KEY", "LITERAL", "PRIVATE")}
    return Manifest(version="sha256:abc", tasks=(ManifestTask.model_validate(task),))


async def put(gateway: Any, name: str, value: str, scope: str = "user") -> None:
    answered = await gateway.client.put(f"/api/v1/secrets/{name}", json={"value": value, "scope": scope})
    assert answered.status_code == 200, answered.text


@pytest.fixture
async def held(gateway: Any, bus: Client, manifest: Manifest) -> Attempt:
    await gateway.insert_benchmark(manifest)
    for name, scope in (
        ("BOTH", "workspace"),
        ("BOTH", "user"),
        ("GIVEN", "user"),
        ("OTHERS", "workspace"),
        ("GRADER", "workspace"),
        ("TASK_KEY", "workspace"),
        ("TASK_KEY", "user"),
        ("PRIVATE", "user"),
    ):
        await put(gateway, name, f"{name} of {scope}", scope)
    body = {
        "experiment_config": {"benchmark": "acme/tiny"},
        "agents": [{"harness": "command", "env": {"PROCTOR_COMMAND": "true"}}],
        "env_config": {"LITERAL": "l"},
        "execution_config": {"verifier_secrets": ["GRADER"]},
        "secrets": {"required": ["BOTH", "GIVEN"], "provided": {"GIVEN": "GIVEN of run"}},
    }
    submitted = await gateway.client.post("/api/v1/runs", json=body)
    assert submitted.status_code == 201, submitted.text
    run = submitted.json()["id"]
    await gateway.plan(run, manifest)
    one = Attempt(gateway, bus, run)
    await one.begin(manifest)
    return one


async def test_each_try_gets_what_there_is_then(gateway: Any, held: Attempt, manifest: Manifest) -> None:
    first = await held.asks()
    assert first.values == {"PROCTOR_COMMAND": "true", "LITERAL": "l", "BOTH": "BOTH of user", "GIVEN": "GIVEN of run"}
    assert first.variables == {"TASK_KEY": "TASK_KEY of workspace"}
    assert first.versions == {"BOTH": "user:1", "GIVEN": "run:1", "TASK_KEY": "workspace:1"}

    await put(gateway, "BOTH", "renewed")
    await held.lose()
    await held.begin(manifest)
    again = await held.asks()
    assert ((again.values or {})["BOTH"], again.versions["BOTH"]) == ("renewed", "user:2")

    assert (await gateway.client.delete("/api/v1/secrets/BOTH")).status_code == 204
    assert ((await held.asks()).values or {})["BOTH"] == "BOTH of workspace"
    assert (await gateway.client.delete("/api/v1/secrets/BOTH?scope=workspace")).status_code == 204
    gone = await held.asks()
    assert (gone.values, "BOTH" in (gone.error or "")) == (None, True)


async def test_a_grader_gets_the_verifiers(held: Attempt, manifest: Manifest) -> None:
    await held.grade(manifest)
    graders = await held.asks("grader-1")
    assert graders.values == {"GRADER": "GRADER of workspace"}
    assert graders.variables == {
        "PROCTOR_COMMAND": "true",
        "LITERAL": "l",
        "BOTH": "BOTH of user",
        "GIVEN": "GIVEN of run",
        "TASK_KEY": "TASK_KEY of workspace",
    }
    runners = await held.asks()
    assert "GRADER" not in {*(runners.values or {}), *runners.variables}


@contextlib.asynccontextmanager
async def asking(held: Attempt) -> AsyncGenerator[list[VaultAnswer]]:
    """The runner asks all the while."""
    answers: list[VaultAnswer] = []

    async def ask() -> None:
        while True:
            answers.append(await held.asks())

    task = asyncio.create_task(ask())
    yield answers
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def test_a_rotation_seals_everything_anew_while_it_is_used(gateway: Any, held: Attempt) -> None:
    path = gateway.settings.home / "vault.key"
    (old,) = read_ring(path).keys
    before = await held.asks()
    async with asking(held) as answers:
        rotated = await gateway.client.post("/api/v1/vault/rotations")
        assert rotated.status_code == 201, rotated.text
        await asyncio.sleep(0.1)
    assert {one.model_dump_json() for one in answers} == {before.model_dump_json()}
    (new,) = read_ring(path).keys
    assert new != old
    assert rotated.json() == {"key_id": rotated.json()["key_id"], "sealed": 10, "source": str(path)}
    assert await ids(gateway) == {rotated.json()["key_id"]}
    assert base64.b64encode(old).decode() not in path.read_text()
    audit = (await gateway.client.get("/api/v1/audit")).json()["items"]
    assert audit[0]["action"] == "vault.rotated"


async def test_one_rotation_at_a_time(gateway: Any) -> None:
    async with gateway.database.transaction():
        await may_seal(gateway.database)
        first = asyncio.create_task(gateway.client.post("/api/v1/vault/rotations"))
        waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
        async with asyncio.timeout(10):
            while not await gateway.database.fetchval(waits):
                await asyncio.sleep(0.01)
        second = await asyncio.wait_for(gateway.client.post("/api/v1/vault/rotations"), 10)
        assert (second.status_code, "another rotation is under way" in second.json()["detail"]) == (409, True)
    assert (await first).status_code == 201
    assert (await gateway.client.post("/api/v1/vault/rotations")).status_code == 201


async def test_a_rotation_that_was_cut_short_is_taken_up(gateway: Any, held: Attempt) -> None:
    """The file has the new key already, and some rows are sealed with it."""
    path = gateway.settings.home / "vault.key"
    before = await held.asks()
    turning = keys.begin(read_ring(path), path)
    sealer = Sealer(*turning.keys)
    for row in await gateway.database.fetch("SELECT * FROM gateway.secrets WHERE scope = 'user'"):
        place = place_of("secrets", row)
        anew = sealer.seal(sealer.open(row["sealed"], place), place)
        change = "UPDATE gateway.secrets SET sealed = $2, key_id = $3 WHERE id = $1"
        await gateway.database.execute(change, row["id"], anew, sealer.key_id)
    rotated = await gateway.client.post("/api/v1/vault/rotations")
    assert rotated.status_code == 201, rotated.text
    assert rotated.json()["sealed"] == 6
    assert read_ring(path).keys == turning.keys[:1]
    assert await ids(gateway) == {sealer.key_id}
    assert await held.asks() == before


async def test_a_key_that_is_gone_is_said(gateway: Any, held: Attempt, caplog: pytest.LogCaptureFixture) -> None:
    """As after a restore of the database without the key: nothing is lost over it, and the key stays."""
    path = gateway.settings.home / "vault.key"
    ring = read_ring(path)
    await gateway.database.execute(
        "UPDATE gateway.secrets SET key_id = 'another', sealed = '\\x00' WHERE name = 'GIVEN'"
    )
    refused = await gateway.client.post("/api/v1/vault/rotations")
    assert refused.status_code == 409
    assert str(path) in refused.json()["detail"]
    assert ring.keys[0] in read_ring(path).keys
    await gateway.database.execute("UPDATE gateway.secrets SET sealed = '\\x00' WHERE name = 'BOTH'")
    told = await held.asks()
    assert (told.values, "key" in (told.error or "")) == (None, True)
    assert any("secrets/" in record.getMessage() for record in caplog.records)


async def test_only_an_operator_rotates(gateway: Any) -> None:
    await gateway.database.execute("UPDATE gateway.users SET operator = false WHERE id = 'owner'")
    assert (await gateway.client.post("/api/v1/vault/rotations")).status_code == 403


async def ids(gateway: Any) -> set[str]:
    tables = " UNION ".join(f"SELECT key_id FROM gateway.{table}" for table in ("secrets", "run_values", "run_secrets"))
    return {row["key_id"] for row in await gateway.database.fetch(tables)}
