"""Files of published datasets. Where they are not at hand this module isn't collected."""

import json
from pathlib import Path

import pytest
from harbor.models.registry import DatasetSpec
from harbor.models.task.config import TaskConfig

from proctor.tasks import TaskInvalid, parse_registry, parse_task_toml


def test_task_toml_has_harbors_verdict_and_values(real_task_toml: Path) -> None:
    text = real_task_toml.read_text()
    try:
        theirs = TaskConfig.model_validate_toml(text)
    except ValueError:
        with pytest.raises(TaskInvalid, match=r"task\.toml"):
            parse_task_toml(text)
        return
    assert parse_task_toml(text).config.model_dump(mode="json") == theirs.model_dump(mode="json")


def test_registries_have_harbors_values(real_registry: Path) -> None:
    text = real_registry.read_text()
    theirs = [DatasetSpec.model_validate(row).model_dump(mode="json") for row in json.loads(text)]
    assert theirs
    assert [dataset.model_dump(mode="json") for dataset in parse_registry(text)] == theirs
