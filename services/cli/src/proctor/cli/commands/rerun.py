"""`proctor run rerun`: an ended run once more."""

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from proctor.cli.access import find_access
from proctor.cli.agents import find_agent
from proctor.cli.arguments import RunArgument
from proctor.cli.client import Client, segment
from proctor.cli.commands.run import answer, read, watch_to_end
from proctor.cli.documents import Json, part, texts
from proctor.cli.failure import Failure, Misused
from proctor.cli.output import HomeOption, JsonOption, notice
from proctor.cli.thresholds import ThresholdOption


def rerun(  # noqa: PLR0917 - typer calls it by name
    run: RunArgument,
    errored: Annotated[
        bool, typer.Option("--errored", help="Keep the results that count, and try the others again.")
    ] = False,
    agents: Annotated[
        list[str] | None,
        typer.Option("--agent", help="An agent to run again: its name, or its number from 0; may be repeated."),
    ] = None,
    added: Annotated[
        list[Path] | None,
        typer.Option("--add-agent", dir_okay=False, help="TOML of an agent to add: its keys, or [[agents]]."),
    ] = None,
    attempts: Annotated[int | None, typer.Option(min=1, help="Attempts per task, those there are included.")] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Show progress until it ends; exit 1 unless it finished.")
    ] = False,
    fail_under: ThresholdOption = None,
    key: Annotated[
        str | None, typer.Option("--idempotency-key", help="A repeat with the same key is the same run.")
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run an ended run again, on the same tasks: a new run.

    All of it is measured again, unless only errored results are wanted, or agents or attempts are added: then results
    that count are taken over where everything they depend on is equal. Secrets that came with the first run are read
    from the environment again.
    """
    if fail_under and not wait:
        raise Misused("--fail-under needs --wait")
    body: Json = {"add_agents": [agent for file in added or [] for agent in agents_of(file)]}
    if errored:
        body["mode"] = "errored"
    if attempts is not None:
        body["attempts_per_task"] = attempts
    with Client(find_access(home)) as client:
        path = f"runs/{segment(run)}"
        source = client.get(path)
        chosen = [find_agent(source, agent) for agent in agents or []]
        if chosen:
            body["agents"] = [agent["agent"] for agent in chosen]
        if errored and not added and attempts is None and whole(chosen or [source]):
            raise Failure(f"nothing errored in {source['name']}; --attempts N or no option measures again")
        required = texts(part(part(source, "config"), "secrets"), "required")
        body["secrets"] = {"provided": {name: os.environ[name] for name in required if name in os.environ}}
        new = client.post(f"{path}/rerun", body, key=key)
        for warning in texts(new, "warnings"):
            notice(f"warning: {warning}")
        if wait:
            watch_to_end(client, new["id"], as_json=as_json, thresholds=fail_under or ())
        else:
            answer(new, home, as_json=as_json)


def whole(counts: list[Json]) -> bool:
    """Whether every attempt has a result that counts; what was cancelled has none."""
    return all(one["expected"] and one["passed"] + one["failed"] == one["expected"] for one in counts)


def agents_of(file: Path) -> list[dict[str, Any]]:
    """Those of a run's TOML, or the one whose table the file is."""
    try:
        document = tomllib.loads(read(file))
    except tomllib.TOMLDecodeError as error:
        raise Misused(f"{file}: {error}") from None
    listed = document.get("agents", [document])
    if not isinstance(listed, list) or not all(isinstance(agent, dict) for agent in cast("list[object]", listed)):
        raise Misused(f"{file}: agents: write each under [[agents]]")
    return cast("list[dict[str, Any]]", listed)
