"""Thousands of mistakes in one body: told as what they are, without going through each."""

from typing import Any

import pytest

from proctor.contracts.manifest import Manifest
from proctor.gateway.submission import Target, accept, parse
from proctor.service.errors import Invalid

TARGET = Target(benchmark="b", key="acme/tiny", name="Tiny", status="ready", default_harness=None)


def issues(body: dict[str, Any], manifest: Manifest) -> list[Any]:
    whole = {"experiment_config": {"benchmark": "acme/tiny"}, "agents": [{"harness": "oracle"}], **body}
    with pytest.raises(Invalid) as refused:
        accept(parse(whole), TARGET, manifest)
    return list(refused.value.issues)


@pytest.mark.parametrize(
    ("body", "key"),
    [
        ({"tasks_config": {"task_names": [f"no-such-{number}" for number in range(20_000)]}}, "tasks.task_names"),
        ({"tasks_config": {"categories": [f"no-such-{number}" for number in range(20_000)]}}, "tasks.categories"),
        ({"tasks_config": {"task_names": [" "] * 20_000}}, "tasks"),
        ({"env_config": {f"1{number}": "v" for number in range(900)}}, "env"),
        ({"execution_config": {f"attempts_per_tas{number}": 1 for number in range(900)}}, "execution"),
        ({"secrets": {"required": [f"-{number}" for number in range(20_000)]}}, "secrets.required"),
    ],
)
def test_a_hundred_problems_are_told_and_the_rest_counted(body: dict[str, Any], key: str, manifest: Manifest) -> None:
    found = issues(body, manifest)
    assert 100 <= len(found) <= 102
    assert all(len(issue.key) + len(issue.message) < 400 for issue in found)
    assert any(issue.key.startswith(key) for issue in found)
    assert any("more problem" in issue.message for issue in found) or key == "tasks.categories"


def test_a_key_of_a_megabyte_is_not_repeated(manifest: Manifest) -> None:
    (found,) = issues({"execution_config": {"a" * 10**6: 1}}, manifest)
    assert (len(found.key) < 200, found.message, found.correction) == (True, "isn't a key of this section", None)


TOO_MANY = "the body has a table of over 1,000 keys, or over 10,000 tables and lists"


CROWDED: list[dict[str, Any]] = [
    {f"key{number}": 1 for number in range(1001)},
    {"execution_config": {f"key{number}": 1 for number in range(1001)}},
    {"agents": [{"env": {f"KEY_{number}": "v" for number in range(1001)}}]},
    {"agents": [{}] * 10_001},
    {"agents": [[[]] * 10_001]},
]


async def test_a_crowded_body_is_refused_before_it_is_looked_at(gateway: Any) -> None:
    for body in CROWDED:
        answer = await gateway.client.post("/api/v1/runs", json=body)
        assert (answer.status_code, answer.json()["detail"]) == (400, TOO_MANY)
    names: dict[str, Any] = {"tasks_config": {"task_names": ["t"] * 50_000}}
    answer = await gateway.client.post("/api/v1/runs", json=names)
    assert answer.status_code == 400
    assert TOO_MANY not in answer.text, "a large list of names is no crowd"
