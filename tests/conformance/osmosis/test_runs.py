"""`osmosis benchmark runs list`, `logs` and `stop`."""

from typing import Any

SLOW = """
[experiment]
benchmark = "acme/custom@3"

[[agents]]
harness = "command"

[agents.env]
PROCTOR_COMMAND = "sleep 50"

[agents.model]
type = "hosted"
base_model = "none"
lora_model_name = "none"
"""


def test_a_run_is_stopped_and_its_log_says_so(site: Any) -> None:
    run = site.submit("slow.toml", SLOW)["name"]
    site.until(run, "running")
    refused = site.osmosis("--json", "benchmark", "runs", "stop", run).error
    assert refused["code"] == "INTERACTIVE_REQUIRED"
    stopped = site.ok("benchmark", "runs", "stop", run, "--yes", git=True)
    assert (stopped["operation"], stopped["status"]) == ("benchmark.stop", "success")
    assert (stopped["resource"]["name"], stopped["resource"]["status"]) == (run, "stopped")
    ended = site.until(run, "stopped")
    assert ended["totals"]["cancelled"] == 3
    again = site.osmosis("--json", "benchmark", "runs", "stop", run, "--yes").error
    assert again["code"] == "CONFLICT"
    assert "stopped" in again["message"]

    lines = site.ok("benchmark", "runs", "logs", run, "--limit", "200")["items"]
    assert [line["details"]["sequence"] for line in lines] == sorted(line["details"]["sequence"] for line in lines)
    assert lines[0]["details"]["type"] == "run.submitted"
    newest = site.ok("benchmark", "runs", "logs", run, "--limit", "3")
    assert newest["items"] == lines[-3:]
    paged = newest["items"]
    while newest.get("next_cursor"):
        newest = site.ok("benchmark", "runs", "logs", run, "--limit", "3", "--cursor", newest["next_cursor"])
        paged = newest["items"] + paged
    assert paged == lines
    for mode in ([], ["--plain"]):
        shown = site.osmosis("benchmark", "runs", "logs", run, *mode)
        assert shown.code == 0, shown
        assert lines[0]["message"] in " ".join(shown.out.split())
    assert site.osmosis("--json", "benchmark", "runs", "logs", run, "--cursor", "!!").error["code"] == "VALIDATION"


def test_runs_are_listed_to_the_last_page(site: Any) -> None:
    body = {"experiment_config": {"benchmark": "acme/custom@3"}, "agents": [{"harness": "nop"}]}
    before = site.ok("benchmark", "runs", "list", "--all")["total_count"]
    with site.client() as client:
        made = [client.post("/runs", json=body).json() for _ in range(53)]
        for run in made:
            client.post(f"/runs/{run['id']}/stop", json={})
    names = [run["name"] for run in made]
    assert len(set(names)) == 53
    everything = site.ok("benchmark", "runs", "list", "--all")
    assert everything["total_count"] == len(everything["items"]) == before + 53
    assert [item["name"] for item in everything["items"]][:53] == names[::-1]
    some = site.ok("benchmark", "runs", "list", git=True)
    assert (len(some["items"]), some["has_more"], some["next_offset"]) == (50, True, 50)
    assert {"name", "status", "created_at", "creator_name", "progress"} <= set(some["items"][0])
    for mode in ([], ["--plain"]):
        shown = site.osmosis("benchmark", "runs", "list", "--limit", "2", *mode)
        assert shown.code == 0
        assert names[-1] in shown.out


def test_a_run_that_isnt_there(site: Any) -> None:
    for command in (["info", "bold-none"], ["logs", "bold-none"], ["stop", "bold-none", "--yes"]):
        error = site.osmosis("--json", "benchmark", "runs", *command).error
        assert (error["code"], "bold-none" in error["message"]) == ("NOT_FOUND", True)
