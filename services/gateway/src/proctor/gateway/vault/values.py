"""The literals of a run, stored sealed beside it until it is cleaned."""

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict

from proctor.contracts.config import EndpointModel, RunConfig
from proctor.gateway.submission import Submission
from proctor.gateway.vault.cipher import Sealer
from proctor.service.postgres import Connection, Pool


class RunValues(BaseModel):
    """`agents` and `headers` have an entry for each agent, in order."""

    model_config = ConfigDict(frozen=True)

    provided: dict[str, str]
    env: dict[str, str]
    agents: tuple[dict[str, str], ...]
    headers: tuple[dict[str, str], ...]

    def of_agent(self, agent: int) -> dict[str, str]:
        """An agent's environment: its own values over the run's."""
        return {**self.provided, **self.env, **self.agents[agent]}


def values_of(submission: Submission, config: RunConfig) -> RunValues:
    return RunValues(
        provided=dict(submission.secrets.provided),
        env=config.env,
        agents=tuple(agent.env for agent in config.agents),
        headers=tuple(
            agent.model.extra_headers if isinstance(agent.model, EndpointModel) else {} for agent in config.agents
        ),
    )


async def store(connection: Connection, sealer: Sealer, workspace: str, run: str, values: RunValues) -> None:
    await connection.execute(
        "INSERT INTO gateway.run_values (workspace, run, sealed) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        workspace,
        run,
        sealer.seal(values.model_dump_json().encode(), _place(workspace, run)),
    )


async def load(pool: Pool, sealer: Sealer, workspace: str, run: str) -> RunValues | None:
    """None when the run is unknown or its values were erased."""
    sealed = await pool.fetchval(
        "SELECT sealed FROM gateway.run_values WHERE workspace = $1 AND run = $2", workspace, run
    )
    if sealed is None:
        return None
    return RunValues.model_validate_json(sealer.open(sealed, _place(workspace, run)))


async def erase(pool: Pool, runs: Iterable[tuple[str, str]]) -> None:
    """(workspace, run) of each."""
    await pool.executemany("DELETE FROM gateway.run_values WHERE workspace = $1 AND run = $2", list(runs))


async def stored_before(pool: Pool, minutes: int) -> list[tuple[str, str]]:
    """(workspace, run) of what is older than that, by the database's clock."""
    rows = await pool.fetch(
        "SELECT workspace, run FROM gateway.run_values WHERE created_at < now() - make_interval(mins => $1)", minutes
    )
    return [(row["workspace"], row["run"]) for row in rows]


def _place(workspace: str, run: str) -> str:
    return f"run_values/{workspace}/{run}"
