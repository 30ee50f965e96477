"""From a task's [environment] to what a sandbox is made of. Pure, but for the values it is given."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from proctor.contracts.ids import sandbox_id
from proctor.contracts.work import AttemptWork
from proctor.sandbox_runner.failure import Failure
from proctor.sandbox_runner.sandbox.protocol import DEFAULT_DISK_MB, SandboxSpec
from proctor.tasks import (
    EnvironmentConfig,
    StepConfig,
    Task,
    TaskConfig,
    VariableMissing,
    image_digest,
    resolve_env,
    verifier_mode,
)
from proctor.tasks.environment import NetworkMode


def _unsupported(config: EnvironmentConfig) -> str | None:
    """What the task asks for that no back end of this runner has."""
    problems = {
        f"it asks for os = {config.os}; this runner has linux": config.os != "linux",
        f"it asks for {config.gpus} GPUs; this runner has none": bool(config.gpus),
        "it asks for a TPU; this runner has none": config.tpu is not None,
    }
    return next((problem for problem, applies in problems.items() if applies), None)


def agent_spec(task: Task, work: AttemptWork, values: Mapping[str, str], labels: Mapping[str, str]) -> SandboxSpec:
    """The sandbox an agent works in. Raises `Failure`."""
    if task.has_compose:
        raise Failure("unsupported_environment", "tasks of several containers (docker-compose.yaml) can't run yet")
    return make_spec(
        identifier=sandbox_id(work.run, work.attempt, work.epoch),
        config=task.config.environment,
        network=_agent_network(task.config),
        root=task.path,
        folder="environment",
        work=work,
        values=values,
        labels=labels,
    )


def _agent_network(config: TaskConfig) -> NetworkMode:
    """The one mode of all phases in the agent's sandbox, which keeps the one it starts with. Raises `Failure`."""
    asked = set[NetworkMode | None]()
    for step in config.steps or (None,):
        asked.add((step.agent.network_mode if step else None) or config.agent.network_mode)
        if verifier_mode(config, step) == "shared":
            asked.add(verifier_network(config, step))
    modes: set[NetworkMode] = {mode or config.environment.network_mode for mode in asked}
    if len(modes) > 1:
        listed = " and ".join(sorted(modes))
        raise Failure("unsupported_environment", f"its phases ask for different networks in one sandbox: {listed}")
    return modes.pop()


def verifier_network(config: TaskConfig, step: StepConfig | None) -> NetworkMode | None:
    """The mode that a verifier's own table asks for; None leaves it to the environment it runs in."""
    return (step.verifier.network_mode if step else None) or config.verifier.network_mode


def make_spec(
    *,
    identifier: str,
    config: EnvironmentConfig,
    network: NetworkMode,
    root: Path,
    folder: str,
    work: AttemptWork,
    values: Mapping[str, str],
    labels: Mapping[str, str],
) -> SandboxSpec:
    """`folder`, of the task, is what the image is made of where `config` names none. Raises `Failure`."""
    if problem := _unsupported(config):
        raise Failure("unsupported_environment", problem)
    if network == "allowlist":
        raise Failure("unsupported_environment", "network_mode = 'allowlist' is not supported yet")
    try:
        env = resolve_env(config.env, values)
    except VariableMissing as error:
        raise Failure("variable_missing", str(error)) from error
    return SandboxSpec(
        id=identifier,
        environment=root / folder,
        environment_digest=_digest(root, folder, config.docker_image),
        labels=labels,
        image=config.docker_image,
        build_timeout=config.build_timeout_sec * work.timeout_multiplier,
        workdir=config.workdir,
        env=env,
        cpus=config.cpus,
        memory_mb=config.memory_mb,
        disk_mb=config.storage_mb or DEFAULT_DISK_MB,
        network="none" if network == "no-network" else "public",
        lifetime=work.lifetime,
    )


@lru_cache(maxsize=4096)
def _digest(root: Path, folder: str, image: str | None) -> str:
    """Read once: a package's folder is named by its content."""
    return image_digest(root, folder, image)


def labels_of(work: AttemptWork, worker: str) -> dict[str, str]:
    return {
        "proctor.workspace": work.workspace,
        "proctor.run": work.run,
        "proctor.attempt": work.attempt,
        "proctor.epoch": str(work.epoch),
        "proctor.runner": worker,
    }
