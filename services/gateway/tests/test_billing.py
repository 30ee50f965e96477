"""What a workspace may spend: its state, its budgets, and what a month has used of them."""

from typing import Any

import pytest

from proctor.contracts.events.run import Budget
from proctor.contracts.manifest import Manifest
from proctor.gateway.billing.budget import RunBudget, Used, WorkspaceBudget, effective, refusal
from proctor.gateway.submission import invalid, parse

RUNS = "/api/v1/runs"
ALL_THREE: dict[str, Any] = {
    "experiment_config": {"benchmark": "acme/tiny"},
    "agents": [{"harness": "oracle"}, {"harness": "nop"}],
    "execution_config": {"attempts_per_task": 2},
}
"""3 tasks x 2 agents x 2 attempts: 12."""


@pytest.mark.parametrize(
    ("own", "workspace", "budget"),
    [
        (RunBudget(), WorkspaceBudget(), None),
        (RunBudget(usd=2), WorkspaceBudget(), Budget(usd=2)),
        (RunBudget(), WorkspaceBudget(run_usd=3, run_attempts=9), Budget(usd=3, attempts=9)),
        (RunBudget(usd=2, attempts=10), WorkspaceBudget(run_usd=3, run_attempts=9), Budget(usd=2, attempts=9)),
        (RunBudget(), WorkspaceBudget(month_usd=50, month_attempts=7), Budget(month_usd=50, month_attempts=7)),
    ],
)
def test_the_smaller_limit_holds(own: RunBudget, workspace: WorkspaceBudget, budget: Budget | None) -> None:
    assert effective(own, workspace) == budget


LIMITED = WorkspaceBudget(run_attempts=10, month_usd=5, month_attempts=100)


@pytest.mark.parametrize(
    ("used", "attempts", "words"),
    [
        (Used(4.99, 90), 10, None),
        (Used(4.99, 0), 11, ["11 attempts", "allows 10 in a run"]),
        (Used(0, 91), 10, ["10 attempts", "allows 9 more in this month", "[budget] to 9"]),
        (Used(5, 0), 1, ["$5.00 of $5.00", "--month-usd"]),
        (Used(0, 100), 1, ["100 of 100 attempts", "--month-attempts"]),
        # used up is told first: no smaller run would help
        (Used(6, 0), 11, ["$6.00 of $5.00"]),
    ],
)
def test_why_a_run_is_not_let_in(used: Used, attempts: int, words: list[str] | None) -> None:
    why = refusal("lab", LIMITED, used, attempts)
    if words is None:
        assert why is None
    else:
        assert why is not None
        assert [word for word in ["lab", *words] if word not in why] == []


async def set_budget(gateway: Any, **limits: Any) -> dict[str, Any]:
    answer = await gateway.client.put(f"/api/v1/workspaces/{gateway.workspace}/budget", json=limits)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def submit(gateway: Any, **sections: Any) -> Any:
    return await gateway.client.post(RUNS, json={**ALL_THREE, **sections})


async def submitted(gateway: Any, run: str) -> Any:
    (event,) = [r.event async for r in gateway.log.read(f"ev.{gateway.workspace}.run.{run}.gateway.run.submitted")]
    return event


async def test_a_suspended_workspace_begins_nothing(gateway: Any, manifest: Manifest) -> None:
    await gateway.insert_benchmark(manifest)
    path = f"/api/v1/workspaces/{gateway.workspace}"
    assert (await gateway.client.patch(path, json={"billing": "suspended"})).status_code == 200
    refused = await submit(gateway)
    assert (refused.status_code, refused.json()["code"]) == (403, "BILLING_REQUIRED")
    assert f"proctor workspace billing {gateway.workspace} ok" in refused.json()["detail"]
    assert [r async for r in gateway.log.read(f"ev.{gateway.workspace}.run.>")] == []
    assert (
        await gateway.database.fetchval("SELECT count(*) FROM gateway.runs WHERE workspace = $1", gateway.workspace)
        == 0
    )
    await gateway.client.patch(path, json={"billing": "ok"})
    assert (await submit(gateway)).status_code == 201


async def test_a_run_carries_its_limits_and_rates_and_is_no_larger(
    prices: None, gateway: Any, manifest: Manifest
) -> None:
    await gateway.insert_benchmark(manifest)
    answers = [await submit(gateway), await submit(gateway, budget_config={"usd": 1.5, "attempts": 5})]
    await set_budget(gateway, run_usd=1, run_attempts=12, month_usd=100)
    answers += [await submit(gateway), await submit(gateway, budget_config={"attempts": 5})]
    events = [await submitted(gateway, answer.json()["id"]) for answer in answers]
    assert [event.budget for event in events] == [
        None,
        Budget(usd=1.5, attempts=5),
        Budget(usd=1, attempts=12, month_usd=100),
        Budget(usd=1, attempts=5, month_usd=100),
    ]
    rates = {(event.rates.hour, event.rates.cpu_hour, event.rates.gibibyte_hour) for event in events}
    assert rates == {(3.6, 0.5, 0.25)}

    await set_budget(gateway, run_attempts=11)
    refused = await submit(gateway)
    assert (refused.status_code, refused.json()["code"]) == (403, "BILLING_REQUIRED")
    assert "the run has 12 attempts" in refused.json()["detail"]
    assert "allows 11 in a run" in refused.json()["detail"]
    assert (await submit(gateway, budget_config={"attempts": 11})).status_code == 201
    assert (await submit(gateway, tasks_config={"task_names": ["acme/copy-file"]})).status_code == 201

    # how much of a rerun is taken over is known once it is planned
    source = answers[0].json()["id"]
    await gateway.append(source, "scheduler", {"type": "run.stopped", "reason": "enough"})
    for mode, status in {"all": 403, "errored": 201}.items():
        assert (await gateway.client.post(f"{RUNS}/{source}/rerun", json={"mode": mode})).status_code == status


@pytest.mark.parametrize(
    ("section", "found"),
    [
        ({"usd": 1, "attempts": 5}, []),
        ({"usd": 0}, [("budget.usd", "must be more than 0.0", None)]),
        (
            {"usd": True, "attempts": 2.5},
            [("budget.usd", "must be a number", None), ("budget.attempts", "must be a whole number", None)],
        ),
        ({"usd": float("inf")}, [("budget.usd", "must be a finite number", None)]),
        ({"attempts": "5"}, [("budget.attempts", "must be a whole number", None)]),
        ({"attempt": 5}, [("budget.attempt", "isn't a key of this section", "attempts")]),
        ([], [("budget", "must be a table", None)]),
    ],
)
def test_a_budget_that_is_none_is_told_with_the_rest(section: Any, found: list[tuple[str, str, str | None]]) -> None:
    body = {**ALL_THREE, "execution_config": {"attempts_per_task": 0}, "budget_config": section}
    issues = [tuple(issue) for issue in invalid(parse(body).issues).issues]
    assert issues == [("execution.attempts_per_task", "must be at least 1", None), *found]


async def test_who_changed_a_budget_is_kept(gateway: Any) -> None:
    path = f"/api/v1/workspaces/{gateway.workspace}/budget"
    nothing = {"run_usd": None, "run_attempts": None, "month_usd": None, "month_attempts": None}
    unset = (await gateway.client.get(path)).json()
    assert unset == {**nothing, "changed_at": None, "changed_by": None, "used": {"usd": 0, "attempts": 0}}
    changed = await set_budget(gateway, run_usd=2.5, month_attempts=1000)
    assert {key: changed[key] for key in nothing} == {**nothing, "run_usd": 2.5, "month_attempts": 1000}
    assert changed["changed_by"] == "owner@localhost"
    await set_budget(gateway, run_usd=2.5, month_attempts=1000)
    lifted = await set_budget(gateway)
    assert {key: lifted[key] for key in nothing} == nothing
    rows = [
        row for row in (await gateway.client.get("/api/v1/audit")).json()["items"] if row["action"] == "budget.changed"
    ]
    assert [row["detail"]["was"]["run_usd"] for row in rows] == [2.5, None]
    for limits in ({"run_usd": -1}, {"run_attempts": 0}, {"month_usd": "5"}, {"year_usd": 5}):
        refused = await gateway.client.put(path, json=limits)
        assert (refused.status_code, refused.json()["issues"][0]["key"]) == (400, next(iter(limits)))


@pytest.fixture
def prices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of `gateway`, when it is asked for first."""
    for name, price in {"SANDBOX_HOUR": "3.6", "CPU_HOUR": "0.5", "GIB_HOUR": "0.25"}.items():
        monkeypatch.setenv(f"PROCTOR_PRICE_{name}", price)


async def test_a_month_counts_what_its_runs_used(
    prices: None, gateway: Any, projection: None, manifest: Manifest
) -> None:
    benchmark = await gateway.add_benchmark(manifest)
    await gateway.until(f"/api/v1/benchmarks/{benchmark}", status="ready")
    run = (await submit(gateway, execution_config={})).json()["id"]
    await gateway.plan(run, manifest, agents=2)
    await spend(gateway, manifest, run, "0-0-1", cost=1.25, seconds=250)
    # a lost one is no attempt that was used
    await dispatch(gateway, manifest, run, "0-1-1")
    lost = {"type": "attempt.lease_lost", "attempt": "0-1-1", "epoch": 1, "worker": "runner-1", "reason": "silent"}
    await gateway.append(run, "scheduler", lost)
    path = f"/api/v1/workspaces/{gateway.workspace}/budget"
    # 250 s at 3.6 dollars an hour are 0.25 dollars
    used = (await gateway.until(path, used={"usd": 1.5, "attempts": 1}))["used"]
    assert used == {"usd": 1.5, "attempts": 1}

    await set_budget(gateway, month_attempts=7)
    refused = await submit(gateway, execution_config={"attempts_per_task": 2})
    assert "12 attempts" in refused.json()["detail"]
    assert "allows 6 more in this month (UTC)" in refused.json()["detail"]
    assert (await submit(gateway, execution_config={})).status_code == 201
    await set_budget(gateway, month_usd=1.5)
    refused = await submit(gateway)
    assert (refused.status_code, refused.json()["code"]) == (403, "BILLING_REQUIRED")
    assert "$1.50 of $1.50" in refused.json()["detail"]
    # of last month by a microsecond
    before = "date_trunc('month', now(), 'UTC') - interval '1 microsecond'"
    await gateway.database.execute(f"UPDATE leaderboard.runs SET submitted_at = {before} WHERE run = $1", run)
    assert (await gateway.client.get(path)).json()["used"] == {"usd": 0, "attempts": 0}
    assert (await submit(gateway)).status_code == 201


async def dispatch(gateway: Any, manifest: Manifest, run: str, attempt: str) -> None:
    about: dict[str, Any] = {"attempt": attempt, "epoch": 1}
    pinned = manifest.tasks[0].model_dump(include={"name", "digest", "package"})
    work = {"workspace": gateway.workspace, "run": run, "run_name": "n", **about, "task": pinned}
    work |= {"agent": {"index": 0, "harness": "oracle"}, "timeout_multiplier": 1.0, "lifetime": 60}
    await gateway.append(run, "scheduler", {"type": "attempt.dispatched", "pool": "default", "work": work, **about})
    claimed = {"type": "attempt.claimed", "worker": "runner-1", "incarnation": "i", "host": "h", **about}
    await gateway.append(run, "runner-1", claimed)


async def spend(gateway: Any, manifest: Manifest, run: str, attempt: str, *, cost: float, seconds: float) -> None:
    """An attempt with that LLM cost, whose sandbox was there for so long."""
    await dispatch(gateway, manifest, run, attempt)
    about: dict[str, Any] = {"attempt": attempt, "epoch": 1}
    ready = {"type": "attempt.sandbox_ready", "sandbox": "s", "backend": "bubblewrap", "image": "host", "seconds": 0.1}
    finished = {"type": "attempt.agent_finished", "seconds": 1.5, "usage": {"cost_usd": cost}}
    cleaned = {"type": "attempt.cleaned", "sandbox": "s", "use": [{"phase": "agent", "seconds": seconds}]}
    for event in (ready, {"type": "attempt.agent_started"}, finished, cleaned):
        await gateway.append(run, "runner-1", {**event, **about})
