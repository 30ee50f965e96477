"""Runs, their agents, and what is said of them in their log."""

from typing import Literal

from pydantic import Field

from proctor.contracts.catalogue import Level, Step
from proctor.contracts.config import RunConfig
from proctor.contracts.metering import SandboxRates
from proctor.contracts.outcomes import Fault, Outcome
from proctor.contracts.states import RunStatus
from proctor.gateway.answers.base import Answer, Moment, Page, Position
from proctor.gateway.answers.metrics import AgentMetrics

TaskSetKind = Literal["full", "parity", "subset"]


class RunLimits(Answer):
    usd: float | None
    attempts: int | None
    month_usd: float | None
    month_attempts: int | None


class ReachedBudget(Answer):
    scope: Literal["run", "month"]
    unit: Literal["usd", "attempts"]
    limit: float
    used: float


class Run(Answer):
    """`agents`, `tasks` and `expected` are counts. Sums over tries are null where nothing was reported."""

    id: str
    name: str = Field(examples=["amber-otter"])
    benchmark: str
    benchmark_key: str
    benchmark_name: str
    version: str
    pass_threshold: str
    reward_key: str | None
    status: RunStatus
    task_set: TaskSetKind | None
    agents: int
    tasks: int | None
    attempts_per_task: int
    expected: int
    passed: int
    failed: int
    errored: int
    cancelled: int
    in_progress: int
    stop_requested: bool
    stop_reason: str | None
    paused: str | None
    waiting: str | None
    failure_kind: str | None
    failure_message: str | None
    submitted_by: str
    submitted_at: Moment
    started_at: Moment | None
    ended_at: Moment | None
    cleaned_at: Moment | None
    position: Position
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    sandbox_seconds: float | None
    cpu_seconds: float | None
    memory_peak_bytes: int | None
    sandbox_cost_usd: float | None
    best_pass_at_1: float | None
    budget: RunLimits | None
    budget_reached: ReachedBudget | None
    rates: SandboxRates
    rerun_of: str | None
    reused_from: str | None
    reused: int
    dispatches: int
    quarantined: bool
    note: str | None
    tags: list[str]
    archived: bool


class SubmittedRun(Run):
    task_count: int | None
    warnings: list[str]


class AgentResult(Answer):
    agent: int
    name: str | None
    harness: str
    model: str | None
    endpoint: str | None
    entrant: str
    status: Literal["pending", "running", "finished", "failed", "stopped"]
    expected: int
    passed: int
    failed: int
    errored: int
    cancelled: int
    in_progress: int
    tries_ended: int
    tokens_reported: int
    cost_reported: int
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    sandbox_seconds: float | None
    cpu_seconds: float | None
    memory_peak_bytes: int | None
    sandbox_cost_usd: float | None
    reused: int
    metrics: AgentMetrics | None
    metrics_position: Position
    position: Position


class ErrorKind(Answer):
    """Results of one error kind, with the message of the first."""

    agent: int
    kind: str
    outcome: Outcome | None
    fault: Fault | None
    count: int
    message: str | None


class RunDetail(Run):
    """`config` has the names of environment variables and headers without their values."""

    config: RunConfig
    agent_results: list[AgentResult]
    kinds: list[ErrorKind]


class Runs(Page[Run]): ...


class LogLine(Answer):
    sequence: int
    time: Moment | None
    level: Level
    step: Step
    agent: int | None
    task: int | None
    attempt: str | None
    type: str
    message: str


class Log(Answer):
    """Oldest first within the page."""

    items: list[LogLine]
    older: str | None = Field(description="for `cursor`; null where the log begins")
    newer: str = Field(description="for `cursor` with `direction=newer`: it always leads on")
