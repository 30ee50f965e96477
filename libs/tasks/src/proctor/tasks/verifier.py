"""Where a task's verifier runs, and from which image."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from proctor.tasks.environment import EnvironmentConfig, Os
from proctor.tasks.schema import StepConfig, TaskConfig, VerifierMode

TEST_SCRIPTS: Final[dict[Os, str]] = {"linux": "test.sh", "windows": "test.bat"}
_IMAGE_FILES: Final = ("Dockerfile", "docker-compose.yaml")


@dataclass(frozen=True, slots=True)
class VerifierEnvironment:
    """A verifier's own environment: its config, the folder its image is built from (relative to the task),
    and whether that image already has /tests."""

    config: EnvironmentConfig
    folder: str
    has_tests: bool


def verifier_mode(config: TaskConfig, step: StepConfig | None = None) -> VerifierMode:
    """`shared` (in the agent's sandbox) unless the step, else the task, says or implies `separate`."""
    return (step.verifier.mode if step else None) or config.verifier.mode or "shared"


def verifier_environment(root: Path, config: TaskConfig, step: StepConfig | None = None) -> VerifierEnvironment | None:
    """The environment of a separate verifier, None when it shares the agent's.

    The image is the first of: the step's docker_image, the step's tests/Dockerfile, the task's verifier
    docker_image, tests/Dockerfile, the task's environment.
    """
    if verifier_mode(config, step) == "shared":
        return None
    own = (step.verifier.environment if step else None) or config.verifier.environment
    effective = own or config.environment
    for table, folder in _image_places(config, step):
        image = table.docker_image if table else None
        if image or any((root / folder / name).is_file() for name in _IMAGE_FILES):
            return VerifierEnvironment(effective.model_copy(update={"docker_image": image or None}), folder, True)
    inherited = {"docker_image": config.environment.docker_image}
    if "os" not in effective.model_fields_set:
        inherited["os"] = config.environment.os
    return VerifierEnvironment(effective.model_copy(update=inherited), "environment", False)


def verifier_script(root: Path, config: TaskConfig, step: StepConfig | None = None) -> str | None:
    """The verifier's script in the task folder: the step's, else the shared one. None: the image has it,
    or (which `load_task` refuses) there is none."""
    separate = verifier_environment(root, config, step)
    if separate and separate.has_tests:
        return None
    return next((path for path in script_places(config, step, separate) if (root / path).exists()), None)


def script_places(config: TaskConfig, step: StepConfig | None, separate: VerifierEnvironment | None) -> tuple[str, ...]:
    """Where the script may be, best first."""
    script = TEST_SCRIPTS[(separate.config if separate else config.environment).os]
    shared = f"tests/{script}"
    return (f"steps/{step.name}/{shared}", shared) if step else (shared,)


def _image_places(config: TaskConfig, step: StepConfig | None) -> Iterable[tuple[EnvironmentConfig | None, str]]:
    if step:
        yield step.verifier.environment, f"steps/{step.name}/tests"
    yield config.verifier.environment, "tests"
