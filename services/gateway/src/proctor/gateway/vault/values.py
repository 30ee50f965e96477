"""What a run was submitted with, sealed: the literals of its configuration, which stay with it, and the secrets it
was given for itself, which go when it is cleaned."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from pydantic import BaseModel, ConfigDict
from pydantic_core import from_json, to_json

from proctor.contracts.config import EndpointModel, RunConfig
from proctor.gateway.vault.cipher import Sealer
from proctor.gateway.vault.sealed import may_seal, run_place
from proctor.service.postgres import Connection, Pool

_ERASE: Final = (
    "DELETE FROM gateway.{} WHERE workspace = $1 AND run = $2 AND created_at <= now() - make_interval(mins => $3)"
)

type Run = tuple[str, str]
"""Workspace and run."""


class Literals(BaseModel):
    """`agents` and `headers` have an entry for each agent, in order."""

    model_config = ConfigDict(frozen=True)

    env: dict[str, str]
    agents: tuple[dict[str, str], ...]
    headers: tuple[dict[str, str], ...]

    def of_agent(self, agent: int) -> dict[str, str]:
        """An agent's environment: its own values over the run's."""
        return {**self.env, **self.agents[agent]}


def literals_of(config: RunConfig) -> Literals:
    return Literals(
        env=config.env,
        agents=tuple(agent.env for agent in config.agents),
        headers=tuple(
            agent.model.extra_headers if isinstance(agent.model, EndpointModel) else {} for agent in config.agents
        ),
    )


async def store(
    connection: Connection, sealer: Sealer, run: Run, literals: Literals, provided: Mapping[str, str]
) -> None:
    """In the transaction of the run's name. What a submit that died left is of the same body, and as if stored now."""
    await may_seal(connection)
    await _insert(connection, sealer, "run_values", run, to_json(literals))
    if provided:
        await _insert(connection, sealer, "run_secrets", run, to_json(dict(provided)))


async def literals(pool: Pool, sealer: Sealer, workspace: str, run: str) -> Literals:
    """Raises `LookupError` when they are gone, and `WrongKey`."""
    clear = await _opened(pool, sealer, "run_values", (workspace, run))
    if clear is None:
        raise LookupError("the run's values are gone")
    return Literals.model_validate_json(clear)


async def provided(pool: Pool, sealer: Sealer, workspace: str, run: str) -> dict[str, str]:
    """Empty when it was given none, or they were erased. Raises `WrongKey`."""
    clear = await _opened(pool, sealer, "run_secrets", (workspace, run))
    return cast("dict[str, str]", from_json(clear)) if clear is not None else {}


async def erase_provided(pool: Pool, runs: Iterable[Run], *, minutes: int = 0) -> None:
    """Unless they were stored within those minutes."""
    await pool.executemany(_ERASE.format("run_secrets"), [(*run, minutes) for run in runs])


async def erase_literals(pool: Pool, runs: Iterable[Run], *, minutes: int = 0) -> None:
    """The same, of submits that never became a run."""
    await pool.executemany(_ERASE.format("run_values"), [(*run, minutes) for run in runs])


async def keep_literals(pool: Pool, runs: Iterable[Run]) -> None:
    """They belong to runs that are in the log."""
    query = "UPDATE gateway.run_values SET kept = true WHERE workspace = $1 AND run = $2"
    await pool.executemany(query, list(runs))


async def provided_before(pool: Pool, minutes: int) -> list[Run]:
    """Of what is older than that, by the database's clock."""
    query = "SELECT workspace, run FROM gateway.run_secrets WHERE created_at < now() - make_interval(mins => $1)"
    return [(row["workspace"], row["run"]) for row in await pool.fetch(query, minutes)]


async def unkept_before(pool: Pool, minutes: int) -> list[Run]:
    """The same of literals that nobody has looked for a run for."""
    query = (
        "SELECT workspace, run FROM gateway.run_values "
        "WHERE NOT kept AND created_at < now() - make_interval(mins => $1)"
    )
    return [(row["workspace"], row["run"]) for row in await pool.fetch(query, minutes)]


async def split_old(pool: Pool, sealer: Sealer) -> None:
    """Rows without a key id hold both in one: put the provided ones where they are erased. Raises `WrongKey`."""
    while True:
        async with pool.acquire() as connection, connection.transaction():
            row = await connection.fetchrow("SELECT * FROM gateway.run_values WHERE key_id IS NULL LIMIT 1 FOR UPDATE")
            if row is None:
                return
            run = (row["workspace"], row["run"])
            both: dict[str, Any] = from_json(sealer.open(row["sealed"], run_place("run_values", *run)))
            await may_seal(connection)
            if both["provided"]:
                await _insert(connection, sealer, "run_secrets", run, to_json(both["provided"]))
            await connection.execute(
                "UPDATE gateway.run_values SET sealed = $3, key_id = $4 WHERE workspace = $1 AND run = $2",
                *run,
                sealer.seal(to_json(Literals.model_validate(both)), run_place("run_values", *run)),
                sealer.key_id,
            )


async def _insert(connection: Connection, sealer: Sealer, table: str, run: Run, clear: bytes) -> None:
    await connection.execute(
        f"INSERT INTO gateway.{table} (workspace, run, sealed, key_id) VALUES ($1, $2, $3, $4) "  # noqa: S608
        "ON CONFLICT (workspace, run) DO UPDATE SET created_at = now()",
        *run,
        sealer.seal(clear, run_place(table, *run)),
        sealer.key_id,
    )


async def _opened(pool: Pool, sealer: Sealer, table: str, run: Run) -> bytes | None:
    query = f"SELECT sealed FROM gateway.{table} WHERE workspace = $1 AND run = $2"  # noqa: S608
    sealed = await pool.fetchval(query, *run)
    return None if sealed is None else sealer.open(sealed, run_place(table, *run))
