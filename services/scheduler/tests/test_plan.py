"""Which tasks a run has, and what its lock pins."""

from typing import Any

import pytest

from proctor.contracts.config import Tasks
from proctor.scheduler.plan import PlanError, coverage, make_lock, planned, select

FILES = ("a", "b", "c", "d")


@pytest.fixture
def manifest(make: Any) -> Any:
    categories = {"a": "files", "b": "files", "c": "text", "d": None}
    return make.manifest(
        *({"name": name, "category": categories[name]} for name in FILES),
        sets=(
            {"name": "parity", "task_names": ["a", "c"]},
            {"name": "quick", "task_names": ["d"]},
            {"name": "empty", "task_names": []},
        ),
    )


@pytest.mark.parametrize(
    ("wanted", "names", "task_set"),
    [
        ({}, "abcd", "full"),
        ({"task_names": ["c", "a"]}, "ac", "parity"),
        ({"task_names": ["a"]}, "a", "subset"),
        ({"categories": ["files"]}, "ab", "subset"),
        ({"task_names": ["c"], "categories": ["files"]}, "abc", "subset"),
        ({"task_names": ["a"], "categories": ["files"]}, "ab", "subset"),
        ({"task_names": list("abcd")}, "abcd", "full"),
        ({"categories": ["nothing"], "task_names": ["d"]}, "d", "subset"),
        ({"task_set": "parity"}, "ac", "parity"),
        ({"task_set": "quick"}, "d", "subset"),
        ({"task_set": "parity", "task_names": ["b"], "categories": ["text"]}, "ac", "parity"),
    ],
)
def test_the_selection_and_what_it_covers(manifest: Any, wanted: dict[str, Any], names: str, task_set: str) -> None:
    tasks = select(Tasks.model_validate(wanted), manifest)
    assert "".join(task.name for task in tasks) == names, "in the manifest's order"
    assert coverage(tasks, manifest) == task_set


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"task_names": ["a", "z", "y"]}, "not in the benchmark's version v1: y, z"),
        ({"task_set": "weekly"}, "no task set 'weekly'"),
        ({"categories": ["nothing"]}, "no task that can run"),
        ({"task_set": "empty"}, "no task that can run"),
    ],
)
def test_a_selection_that_cannot_be_says_why(manifest: Any, wanted: dict[str, Any], said: str) -> None:
    with pytest.raises(PlanError, match=said):
        select(Tasks.model_validate(wanted), manifest)


def test_the_lock_pins_content_and_the_plan_counts_it(make: Any, manifest: Any) -> None:
    execution = {"attempts_per_task": 3, "max_concurrent_attempts": 7, "max_retries": 2}
    submitted = make.submitted(
        agents=[{"harness": "oracle"}, {"harness": "nop"}], tasks={"task_set": "parity"}, execution=execution
    )
    lock = make_lock(submitted, manifest)
    assert [task.digest for task in lock.tasks] == ["sha256:0", "sha256:0"]
    assert (lock.version, lock.pass_threshold, lock.task_set) == ("v1", "0.5", "parity")
    assert planned(lock, "lock/1").model_dump() == {
        "type": "run.planned",
        "lock": "lock/1",
        "task_set": "parity",
        "agents": 2,
        "tasks": 2,
        **execution,
    }
    assert make_lock(submitted, manifest) == lock


def test_a_run_has_at_most_100_000_results(make: Any) -> None:
    manifest = make.manifest(*({"name": f"t{number}"} for number in range(1_563)))
    within = make.submitted(execution={"attempts_per_task": 63})
    assert len(make_lock(within, manifest).tasks) == 1_563
    with pytest.raises(PlanError, match="100032 results are more than the 100000"):
        make_lock(make.submitted(execution={"attempts_per_task": 64}), manifest)
