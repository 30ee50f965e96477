"""What the leaderboard service computes of an agent's results."""

from proctor.gateway.answers.base import Answer, Mean, Rate, RateAt


class Metrics(Answer):
    """Of the results that count; null where none does. `pass_at_k`: [] with one attempt per task."""

    provisional: bool
    n_tasks: int
    attempts_per_task: int
    counted: int
    expected: int
    pass_at_1: Rate | None
    pass_at_k: list[RateAt]
    pass_hat_k: list[RateAt]
    cost_per_task: Mean | None
    time_per_task: Mean | None
    tokens_per_task: Mean | None


class Reported(Answer):
    cost: int
    time: int
    tokens: int


class CategoryMetrics(Answer):
    name: str
    tasks: int
    counted: int
    passed: int
    pass_at_1: Rate | None


class FailureCount(Answer):
    kind: str
    fault: str
    count: int


class AgentMetrics(Metrics):
    """`rank` is by pass@1 among the agents of the ended run."""

    rank: int | None
    tied: bool
    reported: Reported
    categories: list[CategoryMetrics]
    failures: list[FailureCount]
