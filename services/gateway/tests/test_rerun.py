"""An ended run once more, and its configuration as TOML."""

import tomllib
from collections.abc import Callable
from typing import Any

import pytest

from proctor.contracts.events import RunFinished, RunSubmitted
from proctor.contracts.manifest import Manifest

RUNS = "/api/v1/runs"
BODY: dict[str, Any] = {
    "experiment_config": {"benchmark": "acme/tiny"},
    "agents": [
        {"name": "careful", "harness": "command", "env": {"PROCTOR_COMMAND": "make\n", "LANG": "de"}},
        {"harness": "oracle"},
    ],
    "tasks_config": {"categories": ["files"]},
    "execution_config": {"attempts_per_task": 2, "pass_threshold": 0.5, "max_retries": 1},
    "env_config": {"LANG": "C", "EMPTY": ""},
    "secrets": {"required": ["TOKEN"], "provided": {"TOKEN": "s3cret"}},
    "budget_config": {"usd": 2.5},
}
SECRETS = {"provided": {"TOKEN": "other"}}
WRONG: list[tuple[dict[str, Any], list[str], str]] = [
    ({}, ["secrets.required"], "supply TOKEN again"),
    ({"secrets": {"provided": {"TOKEN": ""}}}, ["secrets.provided.TOKEN"], "empty"),
    ({"agents": [2], "secrets": SECRETS}, ["agents[0]"], "it has 2"),
    ({"agents": [0, 0], "secrets": SECRETS}, ["agents"], "twice"),
    ({"agents": [], "secrets": SECRETS}, ["agents"], "at least 1"),
    ({"attempts_per_task": 65, "secrets": SECRETS}, ["execution.attempts_per_task"], "at most 64"),
    ({"add_agents": [{"harness": "orcale"}], "secrets": SECRETS}, ["add_agents[0].harness"], "orcale"),
    ({"mode": "some", "secrets": SECRETS}, ["mode"], "all"),
    ({"secrets": {"required": "TOKEN"}}, ["secrets"], "list"),
]


@pytest.fixture
async def ended(gateway: Any, projection: None, manifest: Manifest) -> str:
    """A run that finished, of a benchmark that has moved on since."""
    benchmark = await gateway.add_benchmark(manifest)
    await gateway.until(f"/api/v1/benchmarks/{benchmark}", status="ready", version=manifest.version)
    answer = await gateway.client.post(RUNS, json=BODY)
    assert answer.status_code == 201, answer.text
    run = answer.json()["id"]
    early = await gateway.client.post(f"{RUNS}/{run}/rerun", json={"secrets": SECRETS})
    assert (early.status_code, early.json()["code"]) == (409, "RUN_GOES_ON")
    await gateway.plan(run, manifest, agents=2)
    await gateway.append(run, "scheduler", RunFinished(passed=0, failed=0, errored=0, cancelled=0))
    later = manifest.model_copy(update={"version": "sha256:new"})
    name = await gateway.objects.put_once("manifest", later.model_dump_json().encode())
    await gateway.database.execute("UPDATE leaderboard.benchmarks SET version = 'sha256:new', manifest = $1", name)
    return run


@pytest.fixture
def submitted(gateway: Any) -> Callable[[str], Any]:
    async def event(run: str) -> RunSubmitted:
        subject = f"ev.{gateway.workspace}.run.{run}.gateway.run.submitted"
        (found,) = [record.event async for record in gateway.log.read(subject)]
        return found

    return event


async def config_of(gateway: Any, run: str) -> tuple[str, dict[str, Any]]:
    answer = await gateway.client.get(f"{RUNS}/{run}/config")
    assert (answer.status_code, answer.headers["content-type"].split(";")[0]) == (200, "application/toml"), answer.text
    return answer.text, tomllib.loads(answer.text)


async def test_all_again_is_the_same_run_on_the_same_tasks(gateway: Any, ended: str, submitted: Any) -> None:
    source = await submitted(ended)
    answer = await gateway.client.post(
        f"{RUNS}/{ended}/rerun", json={"secrets": SECRETS}, headers={"Idempotency-Key": "again"}
    )
    assert (answer.status_code, answer.json()["task_count"]) == (201, 2), answer.text
    again = answer.json()["id"]
    repeat = await gateway.client.post(
        f"{RUNS}/{ended}/rerun", json={"secrets": SECRETS}, headers={"Idempotency-Key": "again"}
    )
    assert (repeat.status_code, repeat.json()["id"]) == (200, again)
    event = await submitted(again)
    changed = {"run": again, "name": event.name, "rerun_of": ended}
    assert event == source.model_copy(update=changed)
    assert (event.version, event.pass_threshold, event.reuse) == ("sha256:abc", "0.5", False)

    text, configuration = await config_of(gateway, again)
    _, first = await config_of(gateway, ended)
    assert configuration == first
    assert configuration["agents"][0]["env"] == {"PROCTOR_COMMAND": "make\n", "LANG": "de"}
    assert (configuration["env"], configuration["secrets"]) == ({"LANG": "C", "EMPTY": ""}, {"required": ["TOKEN"]})
    assert "s3cret" not in text
    assert "other" not in text
    for line in (f"# rerun of {source.name} ({ended})", f"# task list: {source.manifest}", "# pass threshold: 0.5"):
        assert line in text
    resubmitted = {
        "experiment_config": configuration["experiment"],
        "agents": configuration["agents"],
        "tasks_config": configuration["tasks"],
        "execution_config": configuration["execution"],
        "env_config": configuration["env"],
        "secrets": {**configuration["secrets"], "provided": {"TOKEN": "x"}},
    }
    anew = await gateway.client.post(RUNS, json=resubmitted)
    assert anew.status_code == 201, anew.text
    event = await submitted(anew.json()["id"])
    assert (event.config, event.settings) == (source.config, source.settings)
    assert (event.version, event.pass_threshold, event.rerun_of) == ("sha256:new", "0.5", None)


async def test_settings_are_equal_only_where_the_values_are(gateway: Any, ended: str, submitted: Any) -> None:
    source = await submitted(ended)
    careful = {**BODY["agents"][0]}
    other = {**careful, "name": "other", "env": {"PROCTOR_COMMAND": "make all"}}
    wanted = {"agents": [1, 0], "add_agents": [{**careful, "name": "twin"}, other], "secrets": SECRETS}
    answer = await gateway.client.post(f"{RUNS}/{ended}/rerun", json=wanted)
    assert answer.status_code == 201, answer.text
    event = await submitted(answer.json()["id"])
    assert event.reuse
    assert [agent.name for agent in event.config.agents] == [None, "careful", "twin", "other"]
    first, second = source.settings
    assert first != second
    assert event.settings[:3] == (second, first, first)
    assert event.settings[3] not in source.settings
    assert event.config.execution == source.config.execution
    assert (event.budget, event.budget.usd) == (source.budget, 2.5)
    answer = await gateway.client.post(f"{RUNS}/{ended}/rerun", json={"budget_config": {}, "secrets": SECRETS})
    assert (await submitted(answer.json()["id"])).budget is None


async def test_what_is_taken_over_and_what_is_wrong(gateway: Any, ended: str, submitted: Any) -> None:
    path = f"{RUNS}/{ended}/rerun"
    for wanted, reuse, attempts in (
        ({"mode": "errored"}, True, 2),
        ({"attempts_per_task": 4}, True, 4),
        ({"mode": "all", "attempts_per_task": 4}, False, 4),
    ):
        answer = await gateway.client.post(path, json={**wanted, "secrets": SECRETS})
        assert answer.status_code == 201, answer.text
        event = await submitted(answer.json()["id"])
        assert (event.reuse, event.config.execution.attempts_per_task) == (reuse, attempts)

    for wanted, keys, text in WRONG:
        answer = await gateway.client.post(path, json=wanted)
        assert (answer.status_code, [issue["key"] for issue in answer.json()["issues"]]) == (400, keys), answer.text
        assert text in answer.json()["detail"]


async def test_a_viewer_sees_names_without_values_of_anothers_run(gateway: Any, ended: str) -> None:
    await gateway.database.execute("INSERT INTO gateway.users (id, name, email) VALUES ('eve', 'Eve', 'eve@localhost')")
    await gateway.database.execute("UPDATE gateway.members SET role = 'viewer', member = 'eve'")
    await gateway.database.execute("UPDATE gateway.tokens SET holder = 'eve'")
    text, configuration = await config_of(gateway, ended)
    assert configuration["env"] == {"LANG": "", "EMPTY": ""}
    assert configuration["agents"][0]["env"] == {"PROCTOR_COMMAND": "", "LANG": ""}
    assert "for who submitted the run and for admins" in text
    assert (await gateway.client.post(f"{RUNS}/{ended}/rerun", json={"secrets": SECRETS})).status_code == 403
    assert (await gateway.client.get(f"{RUNS}/none/config")).status_code == 404
    await gateway.database.execute("UPDATE gateway.members SET role = 'member'")
    refused = await gateway.client.post(f"{RUNS}/{ended}/rerun", json={"secrets": SECRETS})
    assert (refused.status_code, "only who submitted it" in refused.json()["detail"]) == (403, True)
