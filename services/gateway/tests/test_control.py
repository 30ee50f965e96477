"""Pause, resume, stop of one agent and retry of one attempt over HTTP."""

from collections.abc import Callable
from typing import Any

import pytest

from proctor.contracts.events import AgentStopRequested, RetryRequested, RunFinished
from proctor.contracts.manifest import Manifest
from proctor.contracts.outcomes import Outcome

TWO_AGENTS: dict[str, Any] = {
    "experiment_config": {"benchmark": "acme/tiny"},
    "agents": [{"harness": "oracle"}, {"harness": "nop"}],
}
RUNS = "/api/v1/runs"


@pytest.fixture
async def planned(gateway: Any, projection: None, manifest: Manifest) -> str:
    """A run of two agents that is planned, and nothing more."""
    benchmark = await gateway.add_benchmark(manifest)
    await gateway.until(f"/api/v1/benchmarks/{benchmark}", status="ready")
    run = (await gateway.client.post(RUNS, json=TWO_AGENTS)).json()["id"]
    await gateway.plan(run, manifest, agents=2)
    return run


@pytest.fixture
def events(gateway: Any) -> Callable[[str, str], Any]:
    async def of_type(run: str, kind: str) -> list[Any]:
        subject = f"ev.{gateway.workspace}.run.{run}.gateway.{kind}"
        return [record.event async for record in gateway.log.read(subject)]

    return of_type


def settled(attempt: str, epoch: int, outcome: Outcome, *, counts: bool) -> dict[str, Any]:
    about = {"attempt": attempt, "epoch": epoch, "outcome": outcome, "counts": counts}
    return {"type": "attempt.settled", "kind": "start_failed", "message": "no image", **about}


async def error(gateway: Any, manifest: Manifest, run: str, attempt: str) -> None:
    await gateway.error(run, manifest, attempt, "start_failed", "no image")
    await gateway.append(run, "scheduler", settled(attempt, 1, Outcome.ERRORED, counts=False))


async def test_a_repeat_asks_for_nothing_more(gateway: Any, planned: str, events: Any) -> None:
    for path, body in (
        ("pause", {"reason": " lunch "}),
        ("resume", None),
        ("agents/1/stop", {"reason": "too slow"}),
    ):
        for _ in range(2):
            answer = await gateway.client.post(f"{RUNS}/{planned}/{path}", json=body)
            assert (answer.status_code, answer.json()["id"]) == (202, planned), answer.text
    (paused,) = await events(planned, "run.paused")
    assert (paused.reason, paused.paused_by) == ("lunch", "owner")
    assert len(await events(planned, "run.resumed")) == 1
    assert await events(planned, "run.agent_stop_requested") == [
        AgentStopRequested(agent=1, reason="too slow", requested_by="owner")
    ]
    for _ in range(2):
        assert (await gateway.client.post(f"{RUNS}/{planned}/pause")).status_code == 202
    assert [event.reason for event in await events(planned, "run.paused")] == ["lunch", "asked by a user"]


IMPOSSIBLE: list[tuple[str, Any, int, str]] = [
    ("pause", {"reason": ""}, 400, "reason"),
    ("pause", {"reason": "a\x1bb"}, 400, "U+001B"),
    ("pause", {"why": "x"}, 400, "why"),
    ("resume", {"reason": "x"}, 400, "reason"),
    ("agents/2/stop", None, 404, "it has 2"),
    ("agents/-1/stop", None, 400, "agent"),
    ("results/0-0-1/retry", None, 409, "it wasn't tried yet"),
    ("results/0-3-1/retry", None, 404, "no attempt '0-3-1'"),
    ("results/2-0-1/retry", None, 404, "no attempt '2-0-1'"),
    ("results/nothing/retry", None, 404, "no attempt 'nothing'"),
]


async def test_what_cannot_be_asked(gateway: Any, planned: str) -> None:
    got = [await gateway.client.post(f"{RUNS}/{planned}/{path}", json=body) for path, body, _, _ in IMPOSSIBLE]
    assert [answer.status_code for answer in got] == [status for _, _, status, _ in IMPOSSIBLE]
    for answer, (path, _, _, text) in zip(got, IMPOSSIBLE, strict=True):
        assert text in answer.json()["detail"], path


async def test_an_errored_attempt_is_tried_again_and_no_other(
    gateway: Any, planned: str, manifest: Manifest, events: Any
) -> None:
    await gateway.error(planned, manifest, "0-0-1", "start_failed", "no image")
    retry = f"{RUNS}/{planned}/results/{{}}/retry"
    refused = await gateway.client.post(retry.format("0-0-1"))
    assert (refused.status_code, "it is under way" in refused.json()["detail"]) == (409, True)
    await gateway.append(planned, "scheduler", settled("0-0-1", 1, Outcome.ERRORED, counts=False))
    for _ in range(2):
        assert (await gateway.client.post(retry.format("0-0-1"))).status_code == 202
    asked = [RetryRequested(attempt="0-0-1", epoch=1, requested_by="owner")]
    assert await events(planned, "attempt.retry_requested") == asked

    await gateway.append(planned, "scheduler", settled("0-1-1", 0, Outcome.FAILED, counts=True))
    refused = await gateway.client.post(retry.format("0-1-1"))
    assert (refused.status_code, "its result counts; a rerun makes a new run" in refused.json()["detail"]) == (
        409,
        True,
    )

    await error(gateway, manifest, planned, "1-0-1")
    assert (await gateway.client.post(f"{RUNS}/{planned}/agents/1/stop")).status_code == 202
    refused = await gateway.client.post(retry.format("1-0-1"))
    assert (refused.status_code, "its agent was stopped" in refused.json()["detail"]) == (409, True)
    assert await events(planned, "attempt.retry_requested") == asked


async def test_a_run_that_ended_takes_no_orders(gateway: Any, planned: str, manifest: Manifest) -> None:
    await error(gateway, manifest, planned, "0-0-1")
    assert (await gateway.client.post(f"{RUNS}/{planned}/agents/1/stop")).status_code == 202
    await gateway.append(planned, "scheduler", RunFinished(passed=0, failed=0, errored=1, cancelled=5))
    for path in ("pause", "resume", "agents/0/stop", "results/0-0-1/retry"):
        answer = await gateway.client.post(f"{RUNS}/{planned}/{path}")
        assert (answer.status_code, answer.json()["code"]) == (409, "RUN_ENDED"), path
    assert (await gateway.client.post(f"{RUNS}/{planned}/agents/1/stop")).status_code == 202
    assert (await gateway.client.post(f"{RUNS}/none/pause")).status_code == 404


async def test_a_member_controls_their_own_runs_and_an_admin_all(gateway: Any, planned: str) -> None:
    paths = ("pause", "resume", "agents/1/stop", "results/0-0-1/retry")
    allowed: dict[str, list[int]] = {}
    for role in ("viewer", "member", "admin"):
        await gateway.database.execute(
            "UPDATE gateway.members SET role = $2 WHERE workspace = $1", gateway.workspace, role
        )
        if role == "member":
            allowed["own"] = [(await gateway.client.post(f"{RUNS}/{planned}/{p}")).status_code for p in paths]
        foreign = await submitted_by_another(gateway, planned)
        allowed[role] = [(await gateway.client.post(f"{RUNS}/{foreign}/{p}")).status_code for p in paths]
    assert allowed == {
        "viewer": [403] * 4,
        "member": [403] * 4,
        "own": [202, 202, 202, 409],
        "admin": [202, 202, 202, 404],
    }


async def submitted_by_another(gateway: Any, run: str) -> str:
    """The same run again, as another member would have submitted it."""
    (submitted,) = [
        record.event async for record in gateway.log.read(f"ev.{gateway.workspace}.run.{run}.gateway.run.submitted")
    ]
    other = await gateway.database.fetchval("SELECT md5(random()::text)")
    await gateway.database.execute(
        "INSERT INTO gateway.runs (workspace, run, name, request) VALUES ($1, $2, $2, '')", gateway.workspace, other
    )
    event = submitted.model_copy(update={"run": other, "name": other, "submitted_by": "another"})
    await gateway.append(other, "gateway", event)
    return other
