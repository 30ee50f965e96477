"""registry.json: a list of datasets by name and version, whose tasks are in git or in folders beside it."""

import json
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal

from pydantic import Field, TypeAdapter, ValidationError

from proctor.tasks.errors import TaskInvalid, explain
from proctor.tasks.table import Table

REGISTRY_FILE: Final = "registry.json"
_HEAD: Final = "head"
# PEP 440 without epochs and local parts: release, pre-release, post-release, development release.
_VERSION: Final = re.compile(
    r"v?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[._-]?(?P<pre>alpha|a|beta|b|preview|pre|c|rc)[._-]?(?P<pre_n>\d*))?"
    r"(?P<post>(?:[._-]?(?:post|rev|r)[._-]?|-)(?P<post_n>\d*))?"
    r"(?:[._-]?(?P<dev>dev)[._-]?(?P<dev_n>\d*))?",
    re.IGNORECASE,
)
_PRE_ORDER: Final = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}


class RegistryTask(Table):
    """A task of a registered dataset: `path` is in the git repository, else beside registry.json."""

    name: str
    git_url: str | None = None
    git_commit_id: str | None = None
    path: str


class Metric(Table):
    """How the dataset's authors sum up its rewards."""

    type: Literal["sum", "min", "max", "mean", "uv-script"] = "mean"
    kwargs: dict[str, Any] = Field(default_factory=dict[str, Any])


class RegistryDataset(Table):
    """One version of a dataset. The version is a label: only `git_commit_id` pins content."""

    name: str
    version: str
    description: str
    tasks: tuple[RegistryTask, ...]
    metrics: tuple[Metric, ...] = ()


_DATASETS: Final = TypeAdapter(tuple[RegistryDataset, ...])


def parse_registry(text: str) -> tuple[RegistryDataset, ...]:
    """Every dataset of a registry; raises TaskInvalid with a line for every problem."""
    try:
        return _DATASETS.validate_python(json.loads(text))
    except ValidationError as error:
        raise TaskInvalid(explain(error, REGISTRY_FILE)) from None
    except (ValueError, RecursionError) as error:
        raise TaskInvalid(f"{REGISTRY_FILE}: not valid JSON: {error}") from None


def choose_dataset(registry: Iterable[RegistryDataset], name: str, version: str | None = None) -> RegistryDataset:
    """The dataset of that name and version; without a version the newest, as `newest_version` says."""
    versions = {dataset.version: dataset for dataset in registry if dataset.name == name}
    if not versions:
        raise TaskInvalid(f"{REGISTRY_FILE}: no dataset {name!r}")
    wanted = newest_version(versions) if version is None else version
    if wanted not in versions:
        raise TaskInvalid(f"{REGISTRY_FILE}: {name!r} has no version {wanted!r}, only {', '.join(sorted(versions))}")
    return versions[wanted]


def newest_version(versions: Iterable[str]) -> str:
    """`head`, else the highest version number, else the last in text order."""
    known = sorted(set(versions))
    if _HEAD in known:
        return _HEAD
    numbered = [version for version in known if _VERSION.fullmatch(version.strip())]
    return max(numbered, key=_order) if numbered else known[-1]


def local_task(task: RegistryTask, root: Path) -> Path:
    """The folder of a task that isn't in git; raises TaskInvalid for a path that leaves the registry's folder."""
    root = root.resolve()
    path = PurePosixPath(task.path)
    folder = (root / path).resolve()
    if task.git_url is not None:
        raise TaskInvalid(f"{REGISTRY_FILE}: {task.name}: is in git ({task.git_url}), not in this folder")
    if path.is_absolute() or ".." in path.parts or not folder.is_relative_to(root):
        raise TaskInvalid(f"{REGISTRY_FILE}: {task.name}: path {task.path!r} must stay below {REGISTRY_FILE}")
    return folder


def _order(version: str) -> tuple[tuple[int, ...], tuple[float, int], float, float]:
    parts = _VERSION.fullmatch(version.strip())
    if parts is None:
        raise ValueError(version)
    release = [int(part) for part in parts["release"].split(".")]
    while release and release[-1] == 0:
        release.pop()
    has_post, has_dev = parts["post"] is not None, parts["dev"] is not None
    if parts["pre"]:
        pre = (float(_PRE_ORDER[parts["pre"].lower()]), int(parts["pre_n"] or 0))
    else:
        pre = (float("-inf") if has_dev and not has_post else float("inf"), 0)
    post = float(parts["post_n"] or 0) if has_post else float("-inf")
    dev = float(parts["dev_n"] or 0) if has_dev else float("inf")
    return tuple(release), pre, post, dev
