"""A run that uses secrets of every kind leaves none of their values anywhere."""

import asyncio
import base64
import hashlib
import json
import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from nats.js.errors import NotFoundError

TOML = '[verifier]\nenv = { FROM_TASK = "${GRADER}" }\n[environment]\nnetwork_mode = "no-network"\n'
VERIFIER = """#!/bin/bash
# the literals are for ${VAR} of the task alone here, and an agent's secrets aren't here at all
[[ -z $PERSONAL$SHARED$GIVEN$LITERAL && $GRADER = "$FROM_TASK" ]] || exit 1
printf %s "$GRADER" | sha256sum >/logs/verifier/graders.txt
cat /app/reward >/logs/verifier/reward.txt
"""
COMMAND = """# {in_command}
printf %s "$PERSONAL$SHARED$GIVEN$LITERAL" | sha256sum >/logs/agent/agents.txt
[[ -z $GRADER ]] && echo 1 >reward
exit {status}
"""


class Planted:
    """A value with a core of letters and digits, which looks the same however the text around it is quoted."""

    def __init__(self, name: str) -> None:
        self.name, self.core = name, f"{name.replace('_', '')}{uuid.uuid4().hex}"
        self.text = f" {self.core}/+&='\"é "

    def forms(self) -> Iterator[bytes]:
        core = self.core.encode()
        yield core
        yield core.hex().encode()
        for shift in range(3):
            # what is the same whatever comes before and after
            yield base64.b64encode(bytes(shift) + core + bytes(3)).strip(b"=")[4 : 4 * (len(core) // 3)]


SEEN = "SEEN"
"""An agent's name, which is no secret: what doesn't come upon it has searched nothing."""
PLANTED = {
    name: Planted(name) for name in ("PERSONAL", "SHARED", "GIVEN", "LITERAL", "GRADER", "IN_COMMAND", "RENEWED", SEEN)
}
FORMS = [(one.name, form) for one in PLANTED.values() for form in one.forms()]


def found_in(data: bytes) -> set[str]:
    return {name for name, form in FORMS if form in data}


def files_with_one(*roots: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for root in roots:
        for path in root.rglob("*"):
            # a store may take a file away meanwhile
            with suppress(FileNotFoundError):
                if path.is_file() and not path.is_symlink() and (names := found_in(path.read_bytes())):
                    found[str(path)] = names
    return found


@pytest.fixture
def watched() -> Iterator[set[str]]:
    """Planted values in the arguments of any process of the machine, looked for all the while."""
    found: set[str] = set()
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(0.003):
            for process in Path("/proc").glob("[0-9]*"):
                with suppress(OSError):
                    found.update(found_in((process / "cmdline").read_bytes()))

    thread = threading.Thread(target=watch)
    thread.start()
    yield found
    stop.set()
    thread.join()


@pytest.fixture
def proctor(full: Any, platform: Any) -> Callable[..., str]:
    """The command line, as a process of its own."""

    def run(*words: str, given: str = "", **environment: str) -> str:
        url = str(full.base_url).removesuffix("/").removesuffix("/api/v1")
        own = {"PROCTOR_HOME": str(platform.home), "PROCTOR_URL": url, **environment}
        argv = [sys.executable, "-m", "proctor.cli.main", *words]
        env = {**os.environ, **own}
        done = subprocess.run(argv, input=given, capture_output=True, text=True, env=env, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        assert not found_in((done.stdout + done.stderr).encode())
        return done.stdout

    return run


@pytest.fixture
def benchmark_folder(tmp_path: Path) -> Path:
    task = tmp_path / "leaky" / "one-task"
    for folder in ("environment", "tests"):
        (task / folder).mkdir(parents=True)
    (task / "task.toml").write_text(TOML)
    (task / "instruction.md").write_text("Do it.\n")
    (task / "tests" / "test.sh").write_text(VERIFIER)
    (task / "environment" / "Dockerfile").write_text("FROM debian:bookworm-slim\nWORKDIR /app\n")
    return task.parent


async def rows_with_one(url: str) -> dict[str, set[str]]:
    """By table."""
    connection = await asyncpg.connect(url)
    tables = await connection.fetch(
        "SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) AS name FROM pg_tables "
        "WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
    )
    found: dict[str, set[str]] = {}
    for table in tables:
        rows = await connection.fetch(f"SELECT t::text AS row FROM {table['name']} t")
        if names := found_in("\n".join(row["row"] for row in rows).encode()):
            found[table["name"]] = names
    assert any(table["name"] == "gateway.secrets" for table in tables)
    await connection.execute("CHECKPOINT")
    await connection.close()
    return found


async def database_files(url: str) -> Path:
    connection = await asyncpg.connect(url)
    folder = Path(await connection.fetchval("SHOW data_directory"))
    await connection.close()
    return folder


async def messages_with_one(bus: Any) -> dict[str, set[str]]:
    """Of every stream, object stores and their chunks included."""
    js, found = bus.jetstream(), dict[str, set[str]]()
    for stream in await js.streams_info():
        for sequence in range(stream.state.first_seq, stream.state.last_seq + 1):
            with suppress(NotFoundError):
                message = await js.get_msg(stream.config.name, sequence)
                if names := found_in((message.data or b"") + json.dumps(message.headers or {}).encode()):
                    found[f"{stream.config.name}: {message.subject}"] = names
    return found


async def answers_with_one(full: Any, run: str) -> dict[str, set[str]]:
    """Of the API, artifacts included."""
    paths = [f"/runs/{run}{rest}" for rest in ("", "/results", "/logs?limit=200", "/lock", "/outputs")]
    paths += ["/runs", "/secrets", "/audit"]
    for result in (await full.get(f"/runs/{run}/results")).json()["items"]:
        artifacts = f"/runs/{run}/results/{result['attempt']}/artifacts"
        listed = (await full.get(artifacts)).json()["items"]
        paths += [artifacts, *(f"{artifacts}/{one['phase']}/{one['path']}" for one in listed)]
    answers = {path: await full.get(path) for path in paths}
    assert all(answer.is_success for answer in answers.values())
    return {path: names for path, answer in answers.items() if (names := found_in(answer.content))}


def digest(*names: str) -> str:
    return hashlib.sha256("".join(PLANTED[name].text for name in names).encode()).hexdigest()


@pytest.mark.timeout(240)
async def test_a_value_is_only_where_it_is_used(
    full: Any,
    platform: Any,
    proctor: Callable[..., str],
    benchmark_folder: Path,
    add_benchmark: Callable[..., Any],
    run_to_end: Callable[..., Any],
    watched: set[str],
    tmp_path: Path,
) -> None:
    texts = {name: one.text for name, one in PLANTED.items()}
    await asyncio.to_thread(proctor, "secret", "set", "PERSONAL", given=f"{texts['PERSONAL']}\n")
    for name, scope in (("PERSONAL", "workspace"), ("SHARED", "workspace"), ("GRADER", "workspace")):
        value = texts["RENEWED"] if name == "PERSONAL" else texts[name]
        words = ("secret", "set", name, "--scope", scope, "--env", "FROM_HERE")
        await asyncio.to_thread(proctor, *words, FROM_HERE=value)
    listed = json.loads(await asyncio.to_thread(proctor, "secret", "list", "--json"))
    assert [(one["name"], one["scope"]) for one in listed] == [
        ("GRADER", "workspace"),
        ("PERSONAL", "user"),
        ("PERSONAL", "workspace"),
        ("SHARED", "workspace"),
    ]

    await add_benchmark(benchmark_folder, "test/leaky")
    commands = [COMMAND.format(in_command=PLANTED["IN_COMMAND"].core, status=status) for status in (0, 3)]
    agents = [
        {"name": f"{PLANTED[SEEN].core} {index}", "harness": "command", "env": {"PROCTOR_COMMAND": command}}
        for index, command in enumerate(commands)
    ]
    body = {
        "experiment_config": {"benchmark": "test/leaky"},
        "agents": agents,
        "env_config": {"LITERAL": texts["LITERAL"]},
        "execution_config": {"verifier_secrets": ["GRADER"], "attempts_per_task": 2},
        "secrets": {"required": ["PERSONAL", "SHARED", "GIVEN"], "provided": {"GIVEN": texts["GIVEN"]}},
    }
    found, results = await run_to_end(body)
    run = found["id"]
    assert {agent: result["outcome"] for (_, agent), result in results.items()} == {0: "passed", 1: "passed"}, results
    for result in results.values():
        files = f"/runs/{run}/results/{result['attempt']}/artifacts"
        listed = (await full.get(files)).json()["items"]
        seen = {
            Path(one["path"]).name: (await full.get(f"{files}/{one['phase']}/{one['path']}")).text.split()[0]
            for one in listed
            if one["path"].endswith("s.txt")
        }
        own = digest("PERSONAL", "SHARED", "GIVEN", "LITERAL")
        assert seen == {"agents.txt": own, "graders.txt": digest("GRADER")}

    refused = await full.post("/runs", json={**body, "agents": [{"harness": "orcale", "env": {"A": texts["LITERAL"]}}]})
    assert (refused.status_code, found_in(refused.content)) == (400, set())
    connection = await asyncpg.connect(platform.database_url)
    async with asyncio.timeout(20):
        while await connection.fetchval("SELECT count(*) FROM gateway.run_secrets"):
            await asyncio.sleep(0.1)
    assert await connection.fetchval("SELECT count(*) FROM gateway.run_values") == 1
    await connection.close()

    rotated = json.loads(await asyncio.to_thread(proctor, "vault", "rotate", "--json"))
    assert rotated["sealed"] == 5
    await asyncio.to_thread(proctor, "secret", "delete", "SHARED", "--scope", "workspace")

    assert watched == set()
    for found_at in (
        await rows_with_one(platform.database_url),
        await messages_with_one(platform.bus),
        await answers_with_one(full, run),
        files_with_one(tmp_path, await database_files(platform.database_url)),
    ):
        assert set().union(*found_at.values()) == {SEEN}, found_at


def test_the_search_finds_each_form() -> None:
    """What is planted here would be found."""
    for name, one in PLANTED.items():
        for before in ("", "a", "ab"):
            text = (before + one.text + "end").encode()
            for hidden in (text, base64.b64encode(text), text.hex().encode(), json.dumps(text.decode()).encode()):
                assert found_in(hidden) == {name}, (name, hidden)
