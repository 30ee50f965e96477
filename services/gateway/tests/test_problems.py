"""What a caller is told of an error, by its class."""

import asyncpg
import pytest

from proctor.gateway.problems import problem_of


@pytest.mark.parametrize(
    "error",
    [
        asyncpg.InternalClientError("got result for unknown protocol state 3"),
        asyncpg.InterfaceError("the connection is closed"),
        ConnectionResetError(),
    ],
)
def test_a_connection_that_broke_is_a_database_that_is_away(error: Exception) -> None:
    problem = problem_of(error, "/api/v1/runs")
    assert (problem.status, problem.code, problem.incident) == (503, "UNAVAILABLE", None)
    assert "database" in problem.detail
