"""Reads a task folder as a whole and says what is wrong with it."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, cast, get_args

from proctor.tasks.environment import EnvironmentConfig
from proctor.tasks.errors import TaskInvalid
from proctor.tasks.files import TaskFiles, check_names, check_size, link_targets, task_files
from proctor.tasks.limits import TASK_LIMITS, Limits
from proctor.tasks.names import folder_name_problem
from proctor.tasks.schema import StepConfig, TaskConfig, VerifierConfig
from proctor.tasks.task_toml import CONFIG_FILE, parse_task_toml
from proctor.tasks.values import check_values
from proctor.tasks.variables import Reference, env_references, header_references
from proctor.tasks.verifier import script_places, verifier_environment, verifier_script

Difficulty = Literal["easy", "medium", "hard"]

_CANARY: Final = re.compile(r"<!--.*canary.*-->|#.*canary.*", re.IGNORECASE)
_DEEPEST: Final = 4
_LONGEST_INSTRUCTION: Final = 4 << 20


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a multi-step task."""

    name: str
    instruction: str
    config: StepConfig


@dataclass(frozen=True, slots=True)
class Task:
    """A task that can be run. `instruction` is empty when it has steps; `needed_variables` are the variables
    without a default that its environment, verifier and solution refer to. `files` are those of its digest
    and package, as they were when it was loaded."""

    name: str
    path: Path
    config: TaskConfig
    instruction: str
    steps: tuple[Step, ...]
    has_dockerfile: bool
    has_compose: bool
    category: str | None
    difficulty: Difficulty | None
    tags: tuple[str, ...]
    needed_variables: tuple[str, ...]
    warnings: tuple[str, ...]
    files: TaskFiles


def load_task(path: Path, limits: Limits = TASK_LIMITS) -> Task:
    """The task in a folder; raises TaskInvalid that says what to change. Its package is within `limits`."""
    root = path.resolve()
    config, unknown = parse_task_toml(_config_text(root, path))
    check_values(config, CONFIG_FILE)
    found = task_files(root, limits)
    check_names(found)
    check_size(root, found, limits)
    link_targets(root, found)
    _check_environment(config, root)
    for step in config.steps or (None,):
        _check_test_script(root, config, step)
    steps = tuple(Step(step.name, _instruction(root, f"steps/{step.name}/"), step) for step in config.steps or ())
    instruction = "" if steps else _instruction(root)
    _check_kept(root, config, found)
    files = found.files
    return Task(
        name=_task_name(config, root),
        path=root,
        config=config,
        instruction=instruction,
        steps=steps,
        has_dockerfile="environment/Dockerfile" in files,
        has_compose="environment/docker-compose.yaml" in files,
        category=_text(config.metadata.get("category")),
        difficulty=_difficulty(config.metadata.get("difficulty")),
        tags=_tags(config),
        needed_variables=needed_variables(config),
        warnings=tuple(_warnings(config, unknown, found)),
        files=found,
    )


def find_tasks(root: Path) -> list[Path]:
    """The task folders of a folder, sorted: itself when it is a task, else those at most 4 levels below.
    Links are not followed. Raises TaskInvalid when there are none."""
    if not root.is_dir():
        raise TaskInvalid(f"{root.name}: no such folder")
    tasks = sorted(_tasks_below(root, _DEEPEST))
    if not tasks:
        raise TaskInvalid(f"{root.name}: no folder with a {CONFIG_FILE} here or below")
    return tasks


def strip_canary(text: str) -> str:
    """The text without the canary comments it starts with and the blank lines after them."""
    lines = text.split("\n")
    start = 0
    while start < len(lines) and _CANARY.fullmatch(lines[start].strip()):
        start += 1
    while start < len(lines) and not lines[start].strip():
        start += 1
    return "\n".join(lines[start:])


def needed_variables(config: TaskConfig) -> tuple[str, ...]:
    """The names of every `${VAR}` without a default, sorted."""
    return tuple(sorted({name for name, default in _references(config) if default is None}))


def _config_text(root: Path, path: Path) -> str:
    if not root.is_dir():
        raise TaskInvalid(f"{path.name}: no such folder")
    if not (root / CONFIG_FILE).is_file():
        raise TaskInvalid(f"{path.name}: not a task folder; it has no {CONFIG_FILE}")
    return _read(root, CONFIG_FILE)


def _read(root: Path, name: str) -> str:
    file = root / name
    if not file.resolve().is_relative_to(root):
        raise TaskInvalid(f"{name}: the link leaves the task folder; replace it with what it points to")
    if file.stat().st_size > _LONGEST_INSTRUCTION:
        raise TaskInvalid(f"{name}: larger than {_LONGEST_INSTRUCTION >> 20} MiB")
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise TaskInvalid(f"{name}: not UTF-8 text; save it as UTF-8") from None


def _instruction(root: Path, folder: str = "") -> str:
    name = f"{folder}instruction.md"
    if not (root / name).is_file():
        raise TaskInvalid(f"{name}: missing; write there what the agent is to do")
    return strip_canary(_read(root, name))


def _task_name(config: TaskConfig, root: Path) -> str:
    if config.task is not None:
        return config.task.name
    if problem := folder_name_problem(root.name):
        raise TaskInvalid(f"{root.name!r}: the folder's name {problem}; rename it, or set [task] name = 'org/name'")
    return root.name


def _check_environment(config: TaskConfig, root: Path) -> None:
    if not config.environment.docker_image and not (root / "environment").is_dir():
        raise TaskInvalid("environment: missing; add environment/Dockerfile, or set [environment] docker_image")


def _check_test_script(root: Path, config: TaskConfig, step: StepConfig | None) -> None:
    separate = verifier_environment(root, config, step)
    if not (separate and separate.has_tests) and verifier_script(root, config, step) is None:
        places = script_places(config, step, separate)
        raise TaskInvalid(f"{places[0]}: missing; the verifier's script must be {' or '.join(places)}")


def _check_kept(root: Path, config: TaskConfig, found: TaskFiles) -> None:
    """What the task can't run without must be part of its digest and its package."""
    instructions = [f"steps/{step.name}/instruction.md" for step in config.steps or ()] or ["instruction.md"]
    scripts = [verifier_script(root, config, step) for step in config.steps or (None,)]
    for name in (CONFIG_FILE, *instructions, *filter(None, scripts)):
        if name not in found.files:
            raise TaskInvalid(f"{name}: needed, but left out by .gitignore or .harborignore, or below a linked folder")


def _difficulty(value: object) -> Difficulty | None:
    word = value.strip().lower() if isinstance(value, str) else ""
    return cast("Difficulty", word) if word in get_args(Difficulty) else None


def _text(value: object) -> str | None:
    return (value.strip() or None) if isinstance(value, str) else None


def _tags(config: TaskConfig) -> tuple[str, ...]:
    listed = config.metadata.get("tags")
    tags = cast("list[object]", listed) if isinstance(listed, list) else []
    keywords = config.task.keywords if config.task else ()
    return tuple(dict.fromkeys(tag for tag in (*tags, *keywords) if isinstance(tag, str)))


def _references(config: TaskConfig) -> Iterator[Reference]:
    yield from env_references(config.solution.env)
    yield from _environment_references(config.environment)
    for verifier in (config.verifier, *(step.verifier for step in config.steps or ())):
        yield from _verifier_references(verifier)


def _verifier_references(verifier: VerifierConfig) -> Iterator[Reference]:
    yield from env_references(verifier.env)
    if verifier.environment:
        yield from _environment_references(verifier.environment)


def _environment_references(environment: EnvironmentConfig) -> Iterator[Reference]:
    yield from env_references(environment.env)
    for server in environment.mcp_servers:
        yield from header_references(server.headers)


def _warnings(config: TaskConfig, unknown: Iterable[str], found: TaskFiles) -> Iterator[str]:
    files = found.files
    yield from (f"{CONFIG_FILE}: {key}: unknown key, ignored" for key in unknown)
    definitions = ("environment/Dockerfile", "environment/docker-compose.yaml")
    if not config.environment.docker_image and not any(name in files for name in definitions):
        yield "environment: no Dockerfile, docker-compose.yaml or docker_image"
    given = config.metadata.get("difficulty")
    if given is not None and _difficulty(given) is None:
        yield f"{CONFIG_FILE}: metadata.difficulty: {given!r} is not easy, medium or hard; taken as not given"


def _tasks_below(folder: Path, levels: int) -> Iterator[Path]:
    if (folder / CONFIG_FILE).is_file():
        yield folder
    elif levels:
        for child in folder.iterdir():
            if child.is_dir() and not child.is_symlink() and not child.name.startswith("."):
                yield from _tasks_below(child, levels - 1)
