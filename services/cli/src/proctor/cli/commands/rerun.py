"""`proctor run rerun`: an ended run once more."""

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from proctor.cli.access import find_access
from proctor.cli.arguments import RunArgument
from proctor.cli.client import Client, segment
from proctor.cli.commands.run import answer, read, watch_to_end
from proctor.cli.documents import Json, part, texts
from proctor.cli.failure import Failure
from proctor.cli.output import HomeOption, JsonOption, notice


def rerun(  # noqa: PLR0917 - typer calls it by name
    run: RunArgument,
    errored: Annotated[
        bool, typer.Option("--errored", help="Keep the results that count, and try the others again.")
    ] = False,
    agents: Annotated[
        list[int] | None, typer.Option("--agent", min=0, help="Index of an agent to run again; may be repeated.")
    ] = None,
    added: Annotated[
        list[Path] | None,
        typer.Option("--add-agent", dir_okay=False, help="TOML of an agent to add: its keys, or [[agents]]."),
    ] = None,
    attempts: Annotated[int | None, typer.Option(min=1, help="Attempts per task, those there are included.")] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Show progress until it ends; exit 1 unless it finished.")
    ] = False,
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
    body: Json = {"add_agents": [agent for file in added or [] for agent in agents_of(file)]}
    if errored:
        body["mode"] = "errored"
    if agents:
        body["agents"] = agents
    if attempts is not None:
        body["attempts_per_task"] = attempts
    with Client(find_access(home)) as client:
        path = f"runs/{segment(run)}"
        required = texts(part(part(client.get(path), "config"), "secrets"), "required")
        body["secrets"] = {"provided": {name: os.environ[name] for name in required if name in os.environ}}
        new = client.post(f"{path}/rerun", body, key=key)
        for warning in texts(new, "warnings"):
            notice(f"warning: {warning}")
        if wait:
            watch_to_end(client, new["id"], as_json=as_json)
        else:
            answer(new, home, as_json=as_json)


def agents_of(file: Path) -> list[dict[str, Any]]:
    """Those of a run's TOML, or the one whose table the file is."""
    try:
        document = tomllib.loads(read(file))
    except tomllib.TOMLDecodeError as error:
        raise Failure(f"{file}: {error}") from None
    listed = document.get("agents", [document])
    if not isinstance(listed, list) or not all(isinstance(agent, dict) for agent in cast("list[object]", listed)):
        raise Failure(f"{file}: agents: write each under [[agents]]")
    return cast("list[dict[str, Any]]", listed)
