"""What a task's [environment] becomes, and what is refused."""

from collections.abc import Callable
from typing import Any

import pytest

from proctor.contracts.work import AgentRef, AttemptWork, TaskRef
from proctor.sandbox_runner.environment import agent_spec, labels_of
from proctor.sandbox_runner.failure import Failure
from proctor.tasks import Task

type LoadTask = Callable[..., Task]

WORK = AttemptWork(
    workspace="w",
    run="r",
    run_name="calm-otter",
    attempt="0-0-1",
    epoch=2,
    task=TaskRef(name="t", digest="sha256:0", package="p"),
    agent=AgentRef(index=0, harness="oracle"),
    timeout_multiplier=2,
    lifetime=600,
)


def load(a_task: LoadTask, toml: str, **files: str) -> Task:
    return a_task({"task.toml": toml, **files})


def test_every_setting_arrives(a_task: LoadTask) -> None:
    task = load(
        a_task,
        """
[environment]
docker_image = "python:3.13"
cpus = 1.5
memory_mb = 300
storage_mb = 700
build_timeout_sec = 50
workdir = "/srv"
network_mode = "no-network"
env = { A = "1", B = "${TOKEN}", C = "${UNSET:-c}" }
""",
    )
    spec = agent_spec(task, WORK, {"TOKEN": "s3cret", "OTHER": "x"}, labels_of(WORK, "r1"))
    assert (spec.id, spec.image, spec.workdir, spec.network) == ("r-0-0-1-2", "python:3.13", "/srv", "none")
    assert (spec.cpus, spec.memory_mb, spec.disk_mb, spec.build_timeout, spec.lifetime) == (1.5, 300, 700, 100, 600)
    assert spec.env == {"A": "1", "B": "s3cret", "C": "c"}
    assert spec.labels == {
        "proctor.workspace": "w",
        "proctor.run": "r",
        "proctor.attempt": "0-0-1",
        "proctor.epoch": "2",
        "proctor.runner": "r1",
    }


REFUSED = {
    "windows": ('[environment]\nos = "windows"', "unsupported_environment", "os = windows"),
    "a GPU": ("[environment]\ngpus = 1", "unsupported_environment", "1 GPUs"),
    "a TPU": (
        '[environment]\ntpu = { type = "v5", topology = "2x4" }',
        "unsupported_environment",
        "TPU",
    ),
    "an allowlist": (
        '[environment]\nnetwork_mode = "allowlist"\nallowed_hosts = ["example.org"]',
        "unsupported_environment",
        "allowlist",
    ),
    "an allowlist for the agent": (
        '[agent]\nnetwork_mode = "allowlist"\n[verifier]\nenvironment_mode = "separate"',
        "unsupported_environment",
        "allowlist",
    ),
    "a network for one phase only": (
        '[agent]\nnetwork_mode = "no-network"',
        "unsupported_environment",
        "no-network and public",
    ),
    "a variable nobody set": ('[environment]\nenv = { A = "${TOKEN}" }', "variable_missing", "TOKEN"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_had_is_refused(a_task: LoadTask, case: str) -> None:
    toml, kind, named = REFUSED[case]
    scripts: dict[str, Any] = {"tests/test.bat": "rem\n"} if case == "windows" else {}
    task = load(a_task, toml, **scripts)
    with pytest.raises(Failure) as refusal:
        agent_spec(task, WORK, {}, {})
    assert refusal.value.kind == kind
    assert named in refusal.value.message


def test_several_containers_are_refused(a_task: LoadTask) -> None:
    task = a_task({"environment/docker-compose.yaml": "services: {main: {image: x}}\n"})
    with pytest.raises(Failure, match="docker-compose"):
        agent_spec(task, WORK, {}, {})


SEPARATE = 'environment_mode = "separate"\n'
NETWORKS = {
    "the environment's": ('[environment]\nnetwork_mode = "no-network"', "none"),
    "public unless said": ("", "public"),
    "the agent's over the environment's": (f'[agent]\nnetwork_mode = "no-network"\n[verifier]\n{SEPARATE}', "none"),
    "all phases alike": ('[agent]\nnetwork_mode = "no-network"\n[verifier]\nnetwork_mode = "no-network"', "none"),
    "a separate verifier's is its own": (f'[verifier]\n{SEPARATE}network_mode = "no-network"', "public"),
}


@pytest.mark.parametrize("case", NETWORKS)
def test_the_network_of_the_agents_sandbox(a_task: LoadTask, case: str) -> None:
    toml, network = NETWORKS[case]
    assert agent_spec(load(a_task, toml), WORK, {}, {}).network == network
