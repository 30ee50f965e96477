"""The same task folders as Harbor, the same instruction, and the same place for the verifier."""

from typing import Any

import pytest
from harbor.models.task.paths import TaskPaths
from harbor.models.task.task import Task, strip_canary
from harbor.models.task.verifier_mode import resolve_verifier_environment_definition
from harbor.registry.client.base import resolve_version
from harbor.utils.env import get_required_host_vars, resolve_embedded_env_vars, resolve_env_vars
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.tasks import (
    TaskInvalid,
    VariableMissing,
    load_task,
    newest_version,
    resolve_env,
    resolve_header,
    verifier_environment,
)
from proctor.tasks.folder import strip_canary as our_strip_canary

CONFIGS = st.sampled_from(
    [
        *("", "[agent", "[task]\nname = 'org/t'", "[task]\nid = 1", "[environment]\ndocker_image = 'a:1'"),
        *("[environment]\nos = 'windows'", "[verifier]\nenvironment_mode = 'separate'"),
        *("[verifier.environment]\ndocker_image = 'v:1'", "[verifier.environment]\nos = 'windows'\ncpus = 1"),
        *("[[steps]]\nname = 'one'", "[[steps]]\nname = 'one'\n[steps.verifier]\nenvironment_mode = 'separate'"),
        "[[steps]]\nname='one'\n[steps.verifier.environment]\ndocker_image='s:1'\n[[steps]]\nname='two'",
        "[verifier.environment]\ncpus=1\n[[steps]]\nname='one'\n[steps.verifier]\nenvironment_mode='shared'",
    ]
)
FILES = st.sets(
    st.sampled_from(
        [
            *("instruction.md", "environment/Dockerfile", "tests/test.sh", "tests/test.bat", "tests/Dockerfile"),
            *("tests/docker-compose.yaml", "steps/one/instruction.md", "steps/two/instruction.md"),
            *("steps/one/tests/test.sh", "steps/one/tests/Dockerfile", "steps/two/tests/test.sh", "solution/solve.sh"),
        ]
    ),
    min_size=4,
)
HARBORIGNORE = st.sampled_from([None, "*.md", "test.sh", "test.*\n!test.sh", "*"])


@settings(max_examples=150, deadline=None)
@given(config=CONFIGS, files=FILES, ignore=HARBORIGNORE)
def test_generated_folders(
    tmp_path_factory: pytest.TempPathFactory, config: str, files: set[str], ignore: str | None
) -> None:
    root = tmp_path_factory.mktemp("task")
    for name in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"# canary\n\n{name}")
    (root / "task.toml").write_text(config)
    if ignore is not None and (root / "tests").is_dir():
        (root / "tests" / ".harborignore").write_text(ignore)
    if not Task.is_valid_dir(root):
        with pytest.raises(TaskInvalid):
            load_task(root)
        return
    theirs, ours = Task(root), load_task(root)
    assert (ours.name, ours.instruction) == (theirs.name, theirs.instruction)
    assert [step.instruction for step in ours.steps] == [theirs.step_instruction(step.name) for step in ours.steps]
    their_steps: list[Any] = list(theirs.config.steps or ()) or [None]
    our_steps: list[Any] = list(ours.config.steps or ()) or [None]
    for their_step, our_step in zip(their_steps, our_steps, strict=True):
        definition = resolve_verifier_environment_definition(theirs.config, TaskPaths(root), their_step)
        found = verifier_environment(root, ours.config, our_step)
        assert (definition is None) == (found is None)
        if definition and found:
            assert root / found.folder == definition.directory
            assert found.has_tests == definition.bundled_tests
            assert found.config.model_dump(mode="json") == definition.config.model_dump(mode="json")


@given(
    st.lists(
        st.sampled_from(["# canary", "<!-- CANARY x -->", " <!-- canary --> ", "# title", "", "  ", "canary", "text"]),
        max_size=6,
    ).map("\n".join)
)
def test_canaries(text: str) -> None:
    assert our_strip_canary(text) == strip_canary(text)


VALUES = st.sampled_from(
    ["x", "${A}", "${B}", "${B:-d}", "${B:-}", "p ${A}", "${A}${A}", "${A:-{}}", "${a b}", "$A", ""]
)


@given(VALUES)
def test_variables(value: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("A", "one")
        patch.delenv("B", raising=False)
        try:
            theirs = resolve_env_vars({"K": value})
        except ValueError:
            assert get_required_host_vars({"K": value})
            with pytest.raises(VariableMissing):
                resolve_env({"K": value}, {"A": "one"})
        else:
            assert resolve_env({"K": value}, {"A": "one"}) == theirs


@given(st.sampled_from(["x", "Bearer ${A}", "${A}:${B:-d}", "${A}${A}", "${B:-}", "$A"]))
def test_headers(value: str) -> None:
    variables = {"A": "one"}
    assert resolve_header(value, variables) == resolve_embedded_env_vars(value, variables.get)


VERSIONS = st.lists(
    st.sampled_from(
        [
            *("1", "1.0", "1.10", "1.9", "2.0a1", "2.0b2", "2.0rc1", "2.0", "2.0.post1", "2.0.dev3", "2.0a1.dev2"),
            *("head", "latest", "2025-01-01", "v3", "v3.1", "1.0-1", "lite", "2.0.post1.dev1", "10.0.0"),
        ]
    ),
    min_size=1,
    max_size=5,
    unique=True,
)


@settings(max_examples=150)
@given(VERSIONS)
def test_the_newest_version(versions: list[str]) -> None:
    chosen = newest_version(versions)
    theirs = resolve_version(versions)
    equal = {frozenset({"1", "1.0"})}
    assert chosen == theirs or frozenset({chosen, theirs}) in equal
