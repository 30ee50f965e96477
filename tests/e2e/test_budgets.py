"""What a workspace and a run may spend, by real services: refused, stopped, metered, and priced."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import httpx
import pytest

from proctor.contracts import subjects
from proctor.contracts.events import AttemptCleaned, AttemptDispatched, BudgetReached
from proctor.eventlog import EventLog
from proctor.sandbox_runner.sandbox.cgroup import open_group

pytestmark = pytest.mark.timeout(200)

BURN = "touch done; for ((i = 0; i < 1000000; i++)); do :; done"
"""About a second of one CPU."""
CPU_HOUR, SANDBOX_HOUR = 36.0, 3.6
TASKS = ["proctor/csv-totals", "proctor/deduplicate", "proctor/top-clients"]


@pytest.fixture
def prices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROCTOR_PRICE_CPU_HOUR", str(CPU_HOUR))
    monkeypatch.setenv("PROCTOR_PRICE_SANDBOX_HOUR", str(SANDBOX_HOUR))


def body(attempts: int, **sections: Any) -> dict[str, Any]:
    return {
        "experiment_config": {"benchmark": "first-steps"},
        "tasks_config": {"task_names": TASKS},
        "agents": [{"harness": "command", "env": {"PROCTOR_COMMAND": BURN}}],
        "execution_config": {"attempts_per_task": attempts, "max_concurrent_attempts": 2},
        **sections,
    }


@pytest.fixture
def proctor(full: httpx.AsyncClient, platform: Any) -> Callable[..., Any]:
    """The command, as the owner of this platform."""
    url = str(full.base_url).removesuffix("/api/v1/")
    env = {**os.environ, "PROCTOR_URL": url, "PROCTOR_HOME": str(platform.home)}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "proctor.cli.main", *words]
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)

    return partial(asyncio.to_thread, run)


async def events(platform: Any, run: str) -> list[Any]:
    return [record.event async for record in EventLog(platform.bus, "test").read(subjects.run_events("default", run))]


async def test_a_budget_of_attempts_stops_a_run(
    prices: None,
    full: httpx.AsyncClient,
    platform: Any,
    run_to_end: Callable[..., Any],
    proctor: Callable[..., Any],
) -> None:
    assert (await full.patch("/workspaces/default", json={"billing": "suspended"})).status_code == 200
    refused = await full.post("/runs", json=body(5))
    assert (refused.status_code, refused.json()["code"]) == (403, "BILLING_REQUIRED")
    await full.patch("/workspaces/default", json={"billing": "ok"})

    run, results = await run_to_end(body(5, budget_config={"attempts": 5}))
    assert run["expected"] == 15
    assert (run["status"], run["dispatches"]) == ("stopped", 5)
    log = await events(platform, run["id"])
    assert sum(isinstance(event, AttemptDispatched) for event in log) == 5
    (reached,) = [event for event in log if isinstance(event, BudgetReached)]
    assert (reached.scope, reached.unit, reached.limit, reached.used) == ("run", "attempts", 5, 5)
    assert run["passed"] + run["failed"] == 5
    assert len(results) > 0
    lines = (await full.get(f"/runs/{run['id']}/logs", params={"limit": 200})).json()["items"]
    said = [line["message"] for line in lines if line["type"] in {"run.budget_reached", "run.stopped"}]
    assert len(said) == 2
    assert all("budget" in message for message in said), said

    used = await check_metered(run, log)
    budget = (await full.get("/workspaces/default/budget")).json()
    assert budget["used"]["attempts"] == 5
    assert budget["used"]["usd"] == pytest.approx(used)

    # the month's rest is what another run may have
    shown = await proctor("workspace", "budget", "default", "--month-attempts", "7", "--run-usd", "100")
    assert shown.stdout.splitlines()[:2] == ["a run     $100.00", "a month   7 attempts"]
    assert shown.stdout.splitlines()[2].endswith("5 attempts this month")
    refused = await full.post("/runs", json=body(1))
    assert (refused.status_code, refused.json()["code"]) == (403, "BILLING_REQUIRED")
    assert "3 attempts" in refused.json()["detail"]
    assert "2 more" in refused.json()["detail"]
    run, _ = await run_to_end(body(1, budget_config={"attempts": 2}))
    assert (run["status"], run["dispatches"]) == ("stopped", 2)

    lifted = await proctor("workspace", "budget", "default", "--month-attempts", "none", "--json")
    limits = {"run_usd": 100, "run_attempts": None, "month_usd": None, "month_attempts": None}
    assert json.loads(lifted.stdout).items() >= limits.items()
    for option, words in {"--run-usd=dear": "--run-usd 'dear'", "--run-attempts=0": "--run-attempts 0"}.items():
        wrong = await proctor("workspace", "budget", "default", option)
        assert wrong.returncode != 0
        assert wrong.stdout == ""
        assert words in wrong.stderr


async def check_metered(run: dict[str, Any], log: list[Any]) -> float:
    """The dollars that the sandboxes of five attempts cost, each of which kept a CPU busy."""
    cleaned = [event for event in log if isinstance(event, AttemptCleaned)]
    assert len(cleaned) == 5
    group = open_group("proctor-test-budgets")
    if group is not None:
        group.remove()
    dollars = 0.0
    for event in cleaned:
        parts = {part.phase: part for part in event.use}
        assert list(parts) == ["environment", "setup", "agent", "collect", "grade"]
        agent, cpu = parts["agent"], [part.cpu_seconds or 0 for part in event.use]
        assert (agent.cpu_seconds is None) == (group is None)
        if group is not None:
            assert 0.3 < (agent.cpu_seconds or 0) < agent.seconds + 0.1
        dollars += (sum(part.seconds for part in event.use) * SANDBOX_HOUR + sum(cpu) * CPU_HOUR) / 3600
    assert run["sandbox_cost_usd"] == pytest.approx(dollars)
    assert run["cost_usd"] is None
    return dollars


async def test_a_budget_in_dollars_stops_a_run(
    prices: None, full: httpx.AsyncClient, platform: Any, run_to_end: Callable[..., Any]
) -> None:
    run, _ = await run_to_end(body(5, budget_config={"usd": 0.003}))
    log = await events(platform, run["id"])
    (place,) = [place for place, event in enumerate(log) if isinstance(event, BudgetReached)]
    assert (log[place].unit, log[place].limit) == ("usd", 0.003)
    assert log[place].used >= 0.003
    assert not [event for event in log[place:] if isinstance(event, AttemptDispatched)]
    assert run["status"] == "stopped"
    assert 2 <= run["dispatches"] < run["expected"] == 15
    assert run["passed"] + run["failed"] == run["dispatches"]
