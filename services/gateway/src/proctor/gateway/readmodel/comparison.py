"""Counted results of an agent, by task."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from proctor.service.postgres import Pool

_TASKS: Final = """
SELECT task_name, count(*) FILTER (WHERE counted) AS made, count(*) FILTER (WHERE counted AND passed) AS passed,
       avg(cost_usd) FILTER (WHERE counted)::float8 AS cost,
       avg(agent_seconds) FILTER (WHERE counted)::float8 AS time,
       avg(input_tokens + output_tokens) FILTER (WHERE counted)::float8 AS tokens,
       count(cost_usd) FILTER (WHERE counted) AS costs,
       count(agent_seconds) FILTER (WHERE counted) AS times,
       count(input_tokens + output_tokens) FILTER (WHERE counted) AS token_counts
FROM (SELECT *, counts AND outcome IS NOT NULL AS counted FROM leaderboard.api_results
      WHERE workspace = $1 AND run = $2 AND agent = $3 AND valid_to IS NULL) r
GROUP BY task_name
"""


class Task(NamedTuple):
    """An agent's counted results of a task. Means over its attempts are None where one lacks the number."""

    made: int
    passed: int
    cost: float | None = None
    time: float | None = None
    tokens: float | None = None

    @property
    def rate(self) -> float | None:
        return self.passed / self.made if self.made else None


@dataclass(frozen=True, slots=True)
class Side:
    """`about` is what the reader is told of the agent."""

    about: Mapping[str, Any]
    attempts_per_task: int
    tasks: Mapping[str, Task]


async def tasks(pool: Pool, workspace: str, run: str, agent: int) -> dict[str, Task]:
    return {
        row["task_name"]: Task(
            made=(made := row["made"]),
            passed=row["passed"],
            cost=row["cost"] if row["costs"] == made else None,
            time=row["time"] if row["times"] == made else None,
            tokens=row["tokens"] if row["token_counts"] == made else None,
        )
        for row in await pool.fetch(_TASKS, workspace, run, agent)
    }
