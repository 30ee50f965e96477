"""`osmosis benchmark list`, `info` and `submit`, as the command itself reads our answers."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

KEY = "acme/custom@3"
HOSTED = """
[agents.model]
type = "hosted"
base_model = "none"
lora_model_name = "none"
"""
ORACLE = f"""
[experiment]
benchmark = "{KEY}"

[[agents]]
harness = "oracle"
{HOSTED}
"""
EVERYTHING = f"""
[experiment]
benchmark = "{KEY}"

[tasks]
task_names = ["proctor/ledger"]
categories = ["text"]

[[agents]]
harness = "oracle"
{HOSTED}
[[agents]]
harness = "nop"

[agents.model]
type = "endpoint"
base_url = "http://models.example.org/v1"
model = "none"
api_key_secret = "STORED_KEY"
extra_headers = {{ X-Team = "bench" }}

[[agents]]
harness = "command"

[agents.model]
type = "provider"
model = "none"
api_key_secret = "STORED_KEY"

[agents.env]
PROCTOR_COMMAND = 'echo "$GREETING" > /tmp/greeting && test -n "$RUN_TOKEN"'
GREETING = "hello"

[execution]
attempts_per_task = 2
max_concurrent_attempts = 4
timeout_multiplier = 1.5
max_retries = 1
pass_threshold = 0.5

[verifier]
required = ["CHECK_KEY"]

[secrets]
required = ["RUN_TOKEN", "STORED_TOKEN"]

[env]
GREETING = "good day"
LANG = "C"
"""


@pytest.mark.parametrize("git", [False, True], ids=["workspace", "git"])
def test_the_catalogue(site: Any, git: bool) -> None:
    found = site.ok("benchmark", "list", git=git)
    assert {item["key"] for item in found["items"]} == {"first-steps", KEY}
    assert (found["total_count"], found["has_more"]) == (2, False)
    scope = {"git"} if git else {"workspace"}
    assert scope <= set(found)
    custom = next(item for item in found["items"] if item["key"] == KEY)
    assert (custom["name"], custom["task_count"], custom["category_count"]) == ("Custom", 3, 2)
    assert (custom["sync_status"], custom["source_type"]) == ("ready", "harbor_registry")
    first = site.ok("benchmark", "list", "--limit", "1", git=git)
    assert (len(first["items"]), first["has_more"], first["next_offset"]) == (1, True, 1)
    for mode in ([], ["--plain"]):
        shown = site.osmosis("benchmark", "list", *mode, git=git)
        assert shown.code == 0, shown
        assert KEY in shown.out


def test_one_benchmark_by_its_key_its_name_and_its_id(site: Any) -> None:
    by_key = site.ok("benchmark", "info", KEY)["data"]
    benchmark = by_key["benchmark"]
    for word in (benchmark["name"], benchmark["id"]):
        assert site.ok("benchmark", "info", word)["data"]["benchmark"] == benchmark
    names = [task["name"] for task in benchmark["tasks"]]
    assert names == ["proctor/csv-totals", "proctor/fill-template", "proctor/ledger"]
    assert {category["name"]: category["task_count"] for category in benchmark["categories"]} == {"data": 2, "text": 1}
    assert benchmark["pass_threshold"] == 1.0
    for mode in ([], ["--plain"]):
        shown = site.osmosis("benchmark", "info", KEY, *mode)
        assert shown.code == 0, shown
        assert "Leaderboard" in shown.out
    managed = site.ok("benchmark", "info", "first-steps", git=True)["data"]["benchmark"]
    assert (managed["source_type"], managed["default_harness"]) == ("osmosis_managed", "oracle")


def test_what_isnt_there(site: Any) -> None:
    unknown = site.osmosis("--json", "benchmark", "info", "acme/none@1").error
    assert unknown["code"] == "NOT_FOUND"
    assert "acme/none@1" in unknown["message"]
    for mode in ([], ["--plain"]):
        shown = site.osmosis("benchmark", "info", "acme/none@1", *mode)
        assert shown.code == 1
        assert "acme/none@1" in shown.err
    assert site.osmosis("--json", "dataset", "list").error["code"] == "NOT_FOUND"


@pytest.fixture
def stored(site: Any) -> Iterator[None]:
    """The secrets that EVERYTHING names and that don't come with the run."""
    scopes = {"STORED_KEY": "personal", "STORED_TOKEN": "personal", "CHECK_KEY": "workspace"}
    for name, scope in scopes.items():
        site.ok("secret", "set", name, "--env", "VALUE", "--scope", scope, VALUE=f"planted-{name}")
    yield
    for name, scope in scopes.items():
        site.ok("secret", "delete", name, "--scope", scope, "--yes")


def test_every_section_of_a_submit_reaches_the_run(site: Any, stored: None) -> None:
    site.write("values.env", "RUN_TOKEN=planted-with-the-run\n")
    made = site.submit("everything.toml", EVERYTHING, "--secrets-file", "values.env")
    assert (made["status"], made["task_count"]) == ("pending", 2)
    assert made["workflow_id"] == f"benchmark-run/{made['id']}"
    adjective, noun = made["name"].split("-")[:2]
    assert adjective.isalpha() and noun.isalpha()
    ended = site.until(made["name"], "finished", "failed")
    assert ended["benchmark_run"]["status"] == "finished", site.osmosis("benchmark", "runs", "logs", made["name"]).out
    assert ended["progress"] == {"completed": 12, "total": 12, "unit": "results"}
    assert (ended["totals"]["passed"], ended["totals"]["failed"]) == (4, 8)
    configuration = ended["configuration"]
    assert configuration["task_filters"] == {"task_names": ["proctor/ledger"], "categories": ["text"]}
    assert configuration["config"] == {
        "attempts_per_task": 2,
        "max_concurrent_attempts": 4,
        "timeout_multiplier": 1.5,
        "max_retries": 1,
        "pass_threshold": 0.5,
        "verifier_secrets": ["CHECK_KEY"],
    }
    assert configuration["resolved_secret_scopes"] == {
        "RUN_TOKEN": "run",
        "STORED_TOKEN": "user",
        "CHECK_KEY": "workspace",
    }
    assert [agent["harness"] for agent in ended["agents"]] == ["oracle", "nop", "command"]
    assert ended["agents"][1]["environment_variables"] == {"GREETING": "good day", "LANG": "C"}
    assert ended["agents"][2]["environment_variables"]["GREETING"] == "hello"
    deadline = time.monotonic() + 30
    while (oracle := ended["agent_metrics"][0])["rank"] is None and time.monotonic() < deadline:
        ended = site.until(made["name"], "finished")
    assert (oracle["pass_at_1"]["value"], oracle["rank"], oracle["n_tasks"]) == (1.0, 1, 2)
    assert [point["k"] for point in oracle["pass_at_k"]] == [1, 2]
    for mode in ([], ["--plain"]):
        shown = site.osmosis("benchmark", "runs", "info", made["name"], *mode)
        assert shown.code == 0, shown
        assert "12/12" in shown.out.replace(" ", "")
        assert "planted-" not in str(ended) + shown.out


def test_a_finished_run_is_on_the_board(site: Any) -> None:
    made = site.submit("oracle.toml", ORACLE, git=True)
    site.until(made["id"], "finished")
    info = site.ok("benchmark", "info", KEY)["data"]
    deadline = time.monotonic() + 30
    while not info["leaderboard"] and time.monotonic() < deadline:
        info = site.ok("benchmark", "info", KEY)["data"]
    (entry,) = info["leaderboard"]
    assert (entry["rank"], entry["tied"], entry["harness"], entry["task_set"]) == (1, False, "oracle", "full")
    assert (entry["pass_at_1"]["value"], entry["pass_at_1"]["n"], entry["pass_at_k"]) == (1.0, 3, [])
    assert entry["run"]["name"] == made["name"]
    assert made["name"] in [run["name"] for run in info["runs"]]
    (row,) = [item for item in site.ok("benchmark", "list")["items"] if item["key"] == KEY]
    assert (row["last_run_name"], row["last_run_status"]) == (made["name"], "finished")
    rich = site.osmosis("benchmark", "info", KEY).out
    assert "#1" in rich
    assert "oracle" in rich


MISTAKES = f"""
[experiment]
benchmark = "{KEY}"

[tasks]
task_names = ["proctor/ledgers"]
categories = ["txt"]

[[agents]]
harness = "orcale"
{HOSTED}
[execution]
attempts_per_task = "two"
max_retries = 99
"""


def test_all_mistakes_are_told_at_once_with_what_was_meant(site: Any) -> None:
    path = site.write("mistakes.toml", MISTAKES)
    error = site.osmosis("--json", "benchmark", "submit", "--yes", path).error
    assert error["code"] == "VALIDATION"
    assert [(issue["key"], issue["key_correction"]) for issue in error["details"]["issues"]] == [
        ("tasks.task_names", "proctor/ledger"),
        ("tasks.categories", "text"),
        ("agents[0].harness", "oracle"),
        ("execution.attempts_per_task", None),
        ("execution.max_retries", None),
    ]
    for mode in ([], ["--plain"]):
        told = site.osmosis("benchmark", "submit", "--yes", path, *mode)
        text = " ".join(told.err.split())
        assert told.code == 1
        assert "5 problems found" in text
        assert "did you mean 'oracle'?" in text
    unknown = site.write("unknown.toml", ORACLE.replace(KEY, "acme/custum@3"))
    error = site.osmosis("--json", "benchmark", "submit", "--yes", unknown).error
    assert (error["details"]["field"], error["details"]["issues"][0]["key_correction"]) == ("experiment.benchmark", KEY)


def test_a_suspended_workspace_begins_no_run(site: Any) -> None:
    path = site.write("oracle.toml", ORACLE)
    with site.client() as client:
        client.patch("/workspaces/default", json={"billing": "suspended"})
        try:
            error = site.osmosis("--json", "benchmark", "submit", "--yes", path).error
        finally:
            client.patch("/workspaces/default", json={"billing": "ok"})
    assert error["code"] == "BILLING_REQUIRED"
    assert "suspended" in error["message"]
