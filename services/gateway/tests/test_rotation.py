"""A new key against a gateway that is killed in the middle of it, and with keys from settings."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import httpx
import pytest

from proctor.gateway.vault.cipher import Sealer
from proctor.gateway.vault.keys import read_ring
from proctor.gateway.vault.sealed import place_of

type Started = tuple[httpx.Client, subprocess.Popen[bytes]]

SECRETS = 3000
ADD = """
INSERT INTO gateway.secrets (id, workspace, scope, holder, name, version, sealed, key_id, creator, updater)
VALUES ($1, 'default', 'user', 'owner', $2, 1, '', '', 'owner', 'owner') RETURNING *
"""
SEAL = "UPDATE gateway.secrets SET sealed = $2, key_id = $3 WHERE id = $1"


@pytest.fixture
def start(tmp_path: Path, database_url: str, nats_url: str, free_port: int) -> Iterator[Callable[..., Started]]:
    """A gateway process, on the same home and port each time."""
    processes: list[subprocess.Popen[bytes]] = []
    url, home, errors = f"http://127.0.0.1:{free_port}", tmp_path / "home", tmp_path / "log"

    def run(**settings: str) -> Started:
        own = {"HOME": str(home), "NATS_URL": nats_url, "DATABASE_URL": database_url, "PORT": str(free_port)}
        env = {**os.environ, **{f"PROCTOR_{name}": text for name, text in {**own, **settings}.items()}}
        with errors.open("ab") as log:
            process = subprocess.Popen([sys.executable, "-m", "proctor.gateway"], env=env, stderr=log)
        processes.append(process)
        deadline = time.monotonic() + 30
        while True:
            assert process.poll() is None and time.monotonic() < deadline, errors.read_text()
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{url}/healthz").is_success:
                    break
            time.sleep(0.05)
        token = (home / "token").read_text().strip()
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.Client(base_url=f"{url}/api/v1", headers=headers, timeout=60), process

    yield run
    for process in processes:
        process.kill()
        process.wait(10)


async def values(database_url: str, *keys: bytes) -> dict[str, str]:
    """Every secret, opened with those keys alone."""
    connection, sealer = await asyncpg.connect(database_url), Sealer(*keys)
    rows = await connection.fetch("SELECT * FROM gateway.secrets")
    await connection.close()
    return {row["name"]: sealer.open(row["sealed"], place_of("secrets", row)).decode() for row in rows}


@pytest.mark.slow
async def test_a_gateway_that_dies_while_it_rotates_loses_nothing(
    start: Callable[..., Started], tmp_path: Path, database_url: str
) -> None:
    client, process = start()
    path = tmp_path / "home" / "vault.key"
    first = read_ring(path).keys
    connection, sealer = await asyncpg.connect(database_url), Sealer(*first)
    async with connection.transaction():
        for index in range(SECRETS):
            row = await connection.fetchrow(ADD, uuid.uuid4().hex, f"KEY_{index}")
            assert row is not None
            sealed = sealer.seal(f"value {index}".encode(), place_of("secrets", row))
            await connection.execute(SEAL, row["id"], sealed, sealer.key_id)
    expected = {f"KEY_{index}": f"value {index}" for index in range(SECRETS)}

    def rotate() -> None:
        with contextlib.suppress(httpx.TransportError):
            client.post("/vault/rotations")

    async def key_ids() -> int:
        return await connection.fetchval("SELECT count(DISTINCT key_id) FROM gateway.secrets")

    for delay in (0.0, 0.05, 0.0):
        asking = threading.Thread(target=rotate)
        asking.start()
        while await key_ids() < 2:
            assert asking.is_alive(), "it came to its end before it could be killed"
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        asking.join()
        assert await values(database_url, *read_ring(path).keys) == expected
        client, process = start()
    assert client.post("/vault/rotations").status_code == 201
    (last,) = read_ring(path).keys
    assert last not in first
    assert await values(database_url, last) == expected
    await connection.close()


async def test_keys_of_settings(start: Callable[..., Started], tmp_path: Path, database_url: str) -> None:
    client, process = start()
    assert client.put("/secrets/KEY", json={"value": "v"}).status_code == 200
    old, new = read_ring(tmp_path / "home" / "vault.key").keys[0].hex(), os.urandom(32).hex()

    def again(**settings: str) -> httpx.Client:
        nonlocal process
        process.terminate()
        process.wait(20)
        client, process = start(**settings)
        return client

    client = again(VAULT_KEY=new, VAULT_OLD_KEYS=old)
    rotated = client.post("/vault/rotations")
    assert (rotated.json()["sealed"], rotated.json()["source"]) == (1, "PROCTOR_VAULT_KEY")
    client = again(VAULT_KEY=new)
    assert await values(database_url, bytes.fromhex(new)) == {"KEY": "v"}
    refused = client.post("/vault/rotations")
    assert (refused.status_code, "PROCTOR_VAULT_OLD_KEYS" in refused.json()["detail"]) == (409, True)

    again(VAULT_KEY=old)
    assert "put it back into PROCTOR_VAULT_KEY" in (tmp_path / "log").read_text()
