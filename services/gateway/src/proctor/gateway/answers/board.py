"""A benchmark's board."""

from typing import Literal

from proctor.gateway.answers.base import Answer, Moment, Position
from proctor.gateway.answers.metrics import Metrics

type Measure = Literal["pass_at_1", "pass_at_k", "cost", "time", "tokens"]


class _Entry(Answer):
    entrant: str
    name: str | None
    harness: str
    model: str | None
    endpoint: str | None
    run: str
    run_name: str
    agent: int
    run_status: str
    agent_status: str
    task_set: str | None
    version: str
    attempts_per_task: int
    n_tasks: int
    submitted_by: str
    submitted_at: Moment
    ended_at: Moment | None
    position: Position


class BoardRow(_Entry):
    metrics: Metrics


class Ineligible(_Entry):
    rules: list[str]


class Ratio(Answer):
    median: float
    p: float


class Comparison(Answer):
    """`difference` is entrant - leader; `wins` are the tasks where the entrant is better."""

    entrant: str
    leader: str
    difference: float
    low: float | None
    high: float | None
    p: float
    p_adjusted: float
    wins: int
    losses: int
    equal: int
    tasks: int
    too_few_tasks: bool
    attempts: list[int]
    method: str
    ratio: Ratio | None


class Standing(Answer):
    entrant: str
    rank: int | None
    tied: bool
    comparable: bool
    reasons: list[str]
    comparison: Comparison | None


class Ranks(Answer):
    k: int | None
    leader: str | None
    standings: list[Standing]


class ParetoPoint(Answer):
    entrant: str
    score: float
    cost: float
    on_front: bool
    tied: bool


class Board(Answer):
    """Empty, at no position and without ranks, until a run counts."""

    position: Position | None
    rows: list[BoardRow]
    ranks: dict[Measure, Ranks]
    ineligible: list[Ineligible]
    pareto: list[ParetoPoint]
