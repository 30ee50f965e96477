"""What the demonstration's run must show for the installation to be sound."""

from collections.abc import Iterator

from proctor.cli.documents import Json, parts


def surprises(run: Json, results: list[Json], board: Json) -> Iterator[str]:
    """Everything that isn't as it must be; nothing when all is well."""
    if run["status"] != "finished":
        yield f"the run is {run['status']}, not finished: {run.get('failure_message') or run.get('stop_reason') or ''}"
    for result in results:
        if result["outcome"] not in {"passed", "failed"}:
            where = f"{result['task_name']} attempt {result['number']} by agent {result['agent']}"
            yield f"{where} is {result['outcome']}: {result['kind']}: {result['message']}"
    for agent in run["agent_results"]:
        yield from _agent_surprises(agent)
    ranked = {row["entrant"] for row in parts(board, "rows")}
    for agent in run["agent_results"]:
        if agent["entrant"] not in ranked:
            yield f"{agent['entrant']} is not on the leaderboard"


def _agent_surprises(agent: Json) -> Iterator[str]:
    passed, expected = agent["passed"], agent["expected"]
    right = {
        "oracle": passed == expected,
        "nop": passed == 0,
        "command": 0 < passed < expected,
    }
    if not right.get(agent["harness"], True):
        yield f"{agent['entrant']} passed {passed} of {expected}"
