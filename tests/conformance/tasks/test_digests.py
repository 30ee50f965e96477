"""The digest of a task, byte for byte Harbor's, on generated trees."""

from pathlib import Path

import pytest
from harbor.models.dataset.manifest import DatasetManifest
from harbor.publisher.packager import Packager
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.tasks import dataset_digest, parse_dataset_toml, task_digest

PLACES = st.sampled_from(
    [
        *("", "environment", "tests", "solution", "steps/one", "steps/one/tests", "steps/two/solution", "other"),
        *("environment/tests", "tests/data", "tests/data/deep", "solution/tests", "environment/__pycache__"),
    ]
)
NAMES = st.sampled_from(
    [
        *("task.toml", "instruction.md", "README.md", "trajectory.json", "Dockerfile", "test.sh", "a.log", "b.txt"),
        *("x.pyc", "y~", ".DS_Store", ".env", "é ü.txt", "caf\u00e9", "cafe\u0301", "A", "a", "a b", "[x]", "!x", "#x"),
        *("new\nline", "trailing ", "data", "\U0001f600", "a.b", "a-b", "a/b"),
    ]
)
RULES = st.lists(
    st.sampled_from(
        [
            *("*.log", "!a.log", "data/", "/data", "tests", "tests/", "/tests/data/", "**/deep", "*", "!*/", "!b.txt"),
            *("# comment", "", "\\#x", "\\!x", "é*", "a?b", "[ab].*", "*.txt ", "/", "data/*", "!data/deep/", "x.pyc"),
        ]
    ),
    max_size=3,
).map("\n".join)
IGNORES = st.dictionaries(
    st.sampled_from(
        [
            *(".gitignore", "tests/.harborignore", "tests/data/.harborignore", "solution/.harborignore"),
            *("steps/one/tests/.harborignore", "steps/one/.harborignore", "environment/.harborignore"),
        ]
    ),
    RULES,
    max_size=3,
)
LINKS = st.dictionaries(
    st.sampled_from(["environment/link", "tests/link", "tests/data/link", "solution/link"]),
    st.sampled_from(
        ["environment", "tests/data", "tests/a.log", "solution/b.txt", "nothing", "environment/Dockerfile"]
    ),
    max_size=2,
)


def _write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        if path.is_dir() or any(parent.is_file() for parent in path.parents if parent.is_relative_to(root)):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@settings(max_examples=150, deadline=None)
@given(
    files=st.dictionaries(st.tuples(PLACES, NAMES).map(lambda pair: "/".join(filter(None, pair))), st.text(max_size=5)),
    ignores=IGNORES,
    links=LINKS,
)
def test_generated_trees(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, str], ignores: dict[str, str], links: dict[str, str]
) -> None:
    root = tmp_path_factory.mktemp("task")
    _write(root, {**ignores, "task.toml": "", **files})
    for link, target in links.items():
        leads_around_itself = link.startswith(f"{target}/")
        if (root / link).parent.is_dir() and not leads_around_itself:
            (root / link).symlink_to(root / target)
    assert task_digest(root) == f"sha256:{Packager.compute_content_hash(root)[0]}"


HEX = st.text("0123456789abcdef", min_size=64, max_size=64).map(lambda text: f"sha256:{text}")


@settings(max_examples=50, deadline=None)
@given(tasks=st.lists(HEX, max_size=4), files=st.dictionaries(st.sampled_from(["metric.py", "b", "a"]), HEX))
def test_datasets(tasks: list[str], files: dict[str, str]) -> None:
    text = "[dataset]\nname = 'org/set'\n"
    text += "".join(f"[[tasks]]\nname = 'org/t'\ndigest = '{digest}'\n" for digest in tasks)
    text += "".join(f"[[files]]\npath = '{path}'\ndigest = '{digest}'\n" for path, digest in files.items())
    theirs = DatasetManifest.from_toml(text)
    assert dataset_digest(tasks, files) == f"sha256:{theirs.compute_content_hash()}"
    assert parse_dataset_toml(text).model_dump(mode="json") == theirs.model_dump(mode="json")
