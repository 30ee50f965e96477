"""The catalogue holds together: Harbor accepts each task, the digests are Harbor's, and the tables agree."""

import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from harbor.lint import LintRule, lint_task
from harbor.lint.models import DEFAULT_RULES
from harbor.models.dataset.manifest import DatasetManifest
from harbor.models.task.config import NetworkMode
from harbor.models.task.task import Task
from harbor.models.task.verifier_mode import task_has_any_shared_verifier
from harbor.publisher.packager import Packager

HARBOR_FILES = {"task.toml", "instruction.md", "environment", "tests", "solution", "steps"}


@pytest.fixture(scope="module")
def tasks(catalogue: Path) -> dict[str, Task]:
    return {task.name: task for task in map(Task, sorted(path.parent for path in catalogue.glob("*/task.toml")))}


@pytest.fixture(scope="module")
def sets(catalogue: Path) -> dict[str, Any]:
    return tomllib.loads((catalogue / "sets.toml").read_text())


def test_harbor_accepts_the_task(task_dir: Path) -> None:
    assert Task.is_valid_dir(task_dir)
    task = Task(task_dir)
    assert task.name == f"proctor/{task_dir.name}"
    assert {path.name for path in task_dir.iterdir()} <= HARBOR_FILES


def test_harbor_lints_the_task_clean_but_for_shared_verifiers(task_dir: Path) -> None:
    findings = lint_task(task_dir, selected_rules=DEFAULT_RULES)
    documented = {LintRule.SHARED_VERIFIER} if task_has_any_shared_verifier(Task(task_dir).config) else set()
    assert {finding.rule for finding in findings} == documented, findings


def test_the_task_is_small_and_has_no_network(task_dir: Path) -> None:
    config = Task(task_dir).config
    assert (config.environment.cpus, config.environment.memory_mb) == (1, 512)
    assert config.environment.network_mode == NetworkMode.NO_NETWORK
    for phases in config.steps or [config]:
        assert (phases.agent.timeout_sec, phases.verifier.timeout_sec) == (60, 30)


def test_dataset_pins_every_task_by_harbors_digest(catalogue: Path, tasks: dict[str, Task]) -> None:
    pinned = DatasetManifest.from_toml_file(catalogue / "dataset.toml")
    digests = {name: f"sha256:{Packager.compute_content_hash(task.task_dir)[0]}" for name, task in tasks.items()}
    block = "\n".join(f'[[tasks]]\nname = "{name}"\ndigest = "{digest}"\n' for name, digest in digests.items())
    assert pinned.dataset.name == "proctor/first-steps"
    assert [(task.name, task.digest) for task in pinned.tasks] == list(digests.items()), (
        f"dataset.toml is stale; its tasks should be\n\n{block}"
    )


def test_every_category_is_described_and_used(sets: dict[str, Any], tasks: dict[str, Task]) -> None:
    described = [category["name"] for category in sets["categories"]]
    used = Counter(task.config.metadata["category"] for task in tasks.values())
    assert sorted(described) == sorted(used)
    assert min(used.values()) >= 3


def test_all_difficulties_occur_and_one_task_gives_none(tasks: dict[str, Task]) -> None:
    difficulties = Counter(task.config.metadata.get("difficulty") for task in tasks.values())
    assert set(difficulties) == {"easy", "medium", "hard", None}
    assert difficulties[None] == 1


def test_the_parity_set_covers_every_category(sets: dict[str, Any], tasks: dict[str, Task]) -> None:
    (parity,) = sets["task_sets"]
    assert parity["name"] == "parity"
    assert 5 <= len(parity["tasks"]) == len(set(parity["tasks"])) <= 6
    assert {tasks[name].config.metadata["category"] for name in parity["tasks"]} == {
        c["name"] for c in sets["categories"]
    }
    assert (sets["default_harness"], sets["pass_threshold"]) == ("oracle", 1.0)


def test_the_readme_lists_every_task_as_it_is(catalogue: Path, tasks: dict[str, Task]) -> None:
    rows = [line.split("|") for line in (catalogue / "README.md").read_text().splitlines() if line.startswith("| `")]
    listed = {(row[1].strip(" `"), row[2].strip(), row[3].strip()) for row in rows}
    assert listed == {
        (task.short_name, task.config.metadata["category"], task.config.metadata.get("difficulty", "none given"))
        for task in tasks.values()
    }
