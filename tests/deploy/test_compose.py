"""docker-compose.yml as Compose itself reads it; nothing is built or started."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
COMPOSE = Path(sys.executable).with_name("docker-compose")
PASSWORDS = {"PROCTOR_NATS_PASSWORD": "pnats", "PROCTOR_POSTGRES_PASSWORD": "ppostgres"}
SERVERS = {"nats", "postgres"}
ONCE = {"streams"}
SERVICES = {
    path.parent.name
    for path in ROOT.glob("services/*/pyproject.toml")
    if list(path.parent.glob("src/proctor/*/__main__.py"))
}


def config(**env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMPOSE, "--env-file", os.devnull, "config", "--format", "json"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **env},
        capture_output=True,
        text=True,
        timeout=30,
    )


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    done = config(**PASSWORDS)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["services"]


def test_without_passwords_it_says_what_to_run() -> None:
    done = config()
    assert done.returncode != 0
    assert "deploy/configure.sh" in done.stderr


def test_every_service_is_there_and_built_as_itself(services: dict[str, Any]) -> None:
    assert set(services) == SERVICES | SERVERS | ONCE
    assert {name: services[name]["build"]["args"]["SERVICE"] for name in SERVICES} == {name: name for name in SERVICES}


def test_only_the_gateway_can_be_reached_and_only_from_this_machine(services: dict[str, Any]) -> None:
    published = {name: one["ports"] for name, one in services.items() if one.get("ports")}
    assert {name: [port["host_ip"] for port in ports] for name, ports in published.items()} == {
        "gateway": ["127.0.0.1"]
    }
    assert [name for name, one in services.items() if set(one["networks"]) != {"inside"}] == ["gateway"]


def test_only_the_runner_has_the_engine_and_is_root(services: dict[str, Any]) -> None:
    def mounts(one: dict[str, Any]) -> list[str]:
        return [volume.get("source", "") for volume in one.get("volumes", [])]

    assert [name for name, one in services.items() if any("docker.sock" in each for each in mounts(one))] == [
        "sandbox-runner"
    ]
    assert [name for name, one in services.items() if one.get("user", "").startswith("0")] == ["sandbox-runner"]


def test_a_runner_can_have_siblings(services: dict[str, Any]) -> None:
    """Replicas share neither a name, nor a port, nor a home."""
    runner = services["sandbox-runner"]
    assert not {"container_name", "hostname", "ports"} & set(runner)
    (home,) = (volume for volume in runner["volumes"] if volume["target"] == "/var/lib/proctor")
    assert home["type"] == "volume"
    assert "source" not in home


def test_nothing_is_without_limits(services: dict[str, Any]) -> None:
    assert [name for name, one in services.items() if not one.get("mem_limit")] == []
    hardened = SERVICES | ONCE
    assert [name for name in hardened if not services[name]["read_only"] or services[name]["cap_drop"] != ["ALL"]] == []


def test_what_runs_on_starts_again_by_itself(services: dict[str, Any]) -> None:
    again = {name: one["restart"] for name, one in services.items()}
    assert again == dict.fromkeys(SERVICES | SERVERS, "unless-stopped") | dict.fromkeys(ONCE, "on-failure")


def test_services_start_after_the_streams_are_there(services: dict[str, Any]) -> None:
    waits = {name: services[name]["depends_on"]["streams"]["condition"] for name in SERVICES}
    assert set(waits.values()) == {"service_completed_successfully"}
    with_database = {name for name in SERVICES if "PROCTOR_DATABASE_URL" in services[name]["environment"]}
    assert {services[name]["depends_on"]["postgres"]["condition"] for name in with_database} == {"service_healthy"}
