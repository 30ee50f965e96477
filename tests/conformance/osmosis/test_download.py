"""`osmosis benchmark runs download`, and `proctor run download` beside it."""

import csv
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

MANY = 501
RUN = """
[experiment]
benchmark = "acme/custom@3"

[tasks]
task_names = ["proctor/csv-totals"]

[[agents]]
harness = "command"

[agents.env]
PROCTOR_COMMAND = '''{command}'''

[agents.model]
type = "hosted"
base_model = "none"
lora_model_name = "none"
"""
LEAVE_FILES = (
    "mkdir -p /logs/artifacts/many; cd /logs/artifacts; "
    f"seq {MANY} | split -l 1 -d -a 3 - many/; echo é > 'a b+%41;é.txt'; true"
)


@pytest.fixture(scope="module")
def run(site: Any) -> Any:
    made = site.submit("files.toml", RUN.format(command=LEAVE_FILES))
    site.until(made["name"], "finished")
    with site.client() as client:
        while client.get(f"/runs/{made['id']}").json()["cleaned_at"] is None:
            time.sleep(0.1)
    return made


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def proctor(site: Any, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PROCTOR_URL": site.url, "PROCTOR_TOKEN": site.token, "COLUMNS": "200"}
    argv = [sys.executable, "-m", "proctor.cli.main", "run", "download", *arguments]
    return subprocess.run(argv, env=env, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def test_everything_of_a_run_in_batches_of_five_hundred(site: Any, run: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = site.ok("benchmark", "runs", "download", run["name"], "--type", "all", "-o", str(out))
    resource = done["resource"]
    files = files_below(out)
    assert (done["status"], resource["files_failed"]) == ("success", [])
    assert resource["files_downloaded"] == len(files) == resource["manifest_totals"]["files"]
    assert resource["bytes_downloaded"] == sum(map(len, files.values())) == resource["manifest_totals"]["bytes"]

    (result,) = csv.DictReader(files["results.csv"].decode().splitlines())
    (agent,) = csv.DictReader(files["summary.csv"].decode().splitlines())
    assert (result["task"], result["outcome"], agent["passed"], agent["failed"]) == (
        "proctor/csv-totals",
        "failed",
        "0",
        "1",
    )
    assert (agent["run_id"], agent["run_name"], agent["run_status"]) == (run["id"], run["name"], "finished")
    assert (result["cost_usd"], result["input_tokens"], result["verifier_mode"]) == ("", "", "separate")
    assert float(result["agent_seconds"]) > 0

    below = f"artifacts/{result['identity']}/agent/"
    many = {path: data for path, data in files.items() if path.startswith(below) and "/many/" in path}
    assert sorted(int(data) for data in many.values()) == list(range(1, MANY + 1))
    assert [data for path, data in files.items() if path.endswith("/a b+%41;é.txt")] == ["é\n".encode()]

    with site.client() as client:
        lines = client.get(f"/runs/{run['id']}/logs", params={"limit": 200}).json()["items"]
    text = files["logs.txt"].decode().splitlines()
    assert [line.split(maxsplit=3)[1:] for line in text] == [
        [line["level"], line["step"], line["message"]] for line in lines
    ]

    again = site.ok("benchmark", "runs", "download", run["name"], "--type", "all", "-o", str(out))["resource"]
    assert (again["files_downloaded"], again["files_skipped"]) == (0, len(files))


def test_what_is_there_is_kept_unless_it_is_to_be_overwritten(site: Any, run: Any, tmp_path: Path) -> None:
    first = site.ok("benchmark", "runs", "download", run["name"], "-o", str(tmp_path))
    assert sorted(files_below(tmp_path)) == ["results.csv", "summary.csv"]
    original = (tmp_path / "results.csv").read_bytes()
    (tmp_path / "results.csv").write_bytes(b"x" * len(original))
    site.ok("benchmark", "runs", "download", run["name"], "-o", str(tmp_path))
    assert (tmp_path / "results.csv").read_bytes() != original
    site.ok("benchmark", "runs", "download", run["name"], "-o", str(tmp_path), "--overwrite")
    assert (tmp_path / "results.csv").read_bytes() == original
    assert first["resource"]["selected_types"] == ["summary", "results"]


def test_one_file_that_cant_be_written_is_a_partial_download(site: Any, run: Any, tmp_path: Path) -> None:
    (tmp_path / "logs.txt" / "full").mkdir(parents=True)
    done = site.osmosis(
        "--json", "benchmark", "runs", "download", run["name"], "--type", "logs,summary", "-o", str(tmp_path)
    )
    assert (done.code, (tmp_path / "summary.csv").exists()) == (1, True)
    assert '"partial"' in done.out
    ours = proctor(site, tmp_path, run["name"], "--types", "logs,summary", "-o", ".", "--overwrite")
    assert (ours.returncode, ours.stderr.startswith("logs.txt: ")) == (1, True)


def test_where_it_goes_by_default_and_in_every_mode(site: Any, run: Any) -> None:
    for mode in ([], ["--plain"]):
        shown = site.osmosis("benchmark", "runs", "download", run["name"], "--overwrite", *mode, git=True)
        assert shown.code == 0, shown
        assert (site.clone / ".osmosis" / "benchmarks" / run["name"] / "summary.csv").is_file()
    assert site.ok("benchmark", "runs", "download", run["id"])["status"] == "success"
    wrong = site.osmosis("--json", "benchmark", "runs", "download", "bold-none").error
    assert wrong["code"] == "NOT_FOUND"


def test_a_run_that_goes_on_is_had_as_it_is(site: Any, tmp_path: Path) -> None:
    going = site.submit("going.toml", RUN.format(command="sleep 50"))["name"]
    site.until(going, "running")
    done = site.ok("benchmark", "runs", "download", going, "--type", "all", "-o", str(tmp_path))
    (agent,) = csv.DictReader((tmp_path / "summary.csv").read_text().splitlines())
    assert (done["status"], agent["run_status"], agent["passed"]) == ("success", "running", "0")
    site.ok("benchmark", "runs", "stop", going, "--yes")


def test_proctor_gets_the_same_files(site: Any, run: Any, tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / run["name"]
    site.ok("benchmark", "runs", "download", run["name"], "--type", "all", "-o", str(theirs))
    done = proctor(site, tmp_path, run["name"], "--types", "summary,results,artifacts,logs")
    assert done.returncode == 0, done.stderr
    assert files_below(ours) == files_below(theirs)
    assert f"{len(files_below(ours))} files" in done.stdout
    again = proctor(site, tmp_path, run["name"], "--types", "all", "--json")
    assert '"downloaded": [\n    "lock.json"\n  ]' in again.stdout
    refused = proctor(site, tmp_path, run["name"], "--types", "pictures")
    assert refused.returncode != 0
    assert "choose from" in refused.stderr
