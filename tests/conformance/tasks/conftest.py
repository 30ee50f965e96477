"""Our task format held against the `harbor` package, and against task files from real datasets where they are."""

import os
import warnings
from pathlib import Path

import pytest

os.environ.setdefault("HARBOR_TELEMETRY", "0")

_BESIDE_THE_CHECKOUT = Path(__file__).parents[3].parent / "shared"
SHARED = Path(os.environ.get("PROCTOR_SHARED", _BESIDE_THE_CHECKOUT))
REAL_TASKS = sorted(SHARED.glob("real-tasks/*/task.toml"))
REAL_REGISTRIES = sorted(SHARED.glob("registries/*.json"))

collect_ignore = [] if REAL_TASKS and REAL_REGISTRIES else ["test_real_files.py"]


@pytest.fixture(autouse=True)
def _old_spellings_are_no_news() -> None:
    warnings.simplefilter("ignore", DeprecationWarning)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for name, files in (("real_task_toml", REAL_TASKS), ("real_registry", REAL_REGISTRIES)):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, files, ids=[f"{file.parent.name}/{file.name}" for file in files])
