"""`proctor run results`: what came of each attempt."""

from typing import Annotated

import typer

from proctor.cli.access import find_access
from proctor.cli.agents import find_agent
from proctor.cli.arguments import AgentOption, RunArgument
from proctor.cli.client import Client, segment
from proctor.cli.display.figures import DASH
from proctor.cli.display.progress import agent_label
from proctor.cli.display.table import make_table
from proctor.cli.documents import ENDED, parts
from proctor.cli.output import HomeOption, JsonOption, print_json, say, show
from proctor.contracts.outcomes import Outcome


def results(  # noqa: PLR0917 - typer calls it by name
    run: RunArgument,
    outcome: Annotated[Outcome | None, typer.Option(help="Only results with this outcome.")] = None,
    agent: AgentOption = None,
    task: Annotated[str | None, typer.Option(help="Only results of this task, by name.")] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List a run's results, with the reason where an attempt didn't go well."""
    path = f"runs/{segment(run)}"
    with Client(find_access(home)) as client:
        found = client.get(path)
        number = int(find_agent(found, agent)["agent"]) if agent is not None else None
        items = list(client.pages(f"{path}/results", outcome=outcome, agent=number, task=task))
    if as_json:
        print_json(items)
        return
    if not items:
        say("no such result" if found["status"] in ENDED else "no such result yet")
        return
    labels = {int(one["agent"]): agent_label(one) for one in parts(found, "agent_results")}
    columns = ["Task", "Agent", "Attempt", "Outcome", "Score", "Kind", "Message"]
    rows = [
        [
            one["task_name"],
            labels.get(int(one["agent"]), str(one["agent"])),
            str(one["number"]),
            one["outcome"] or one.get("status") or DASH,
            DASH if one.get("score") is None else str(one["score"]),
            one.get("kind") or DASH,
            " ".join(str(one.get("message") or DASH).split()),
        ]
        for one in items
    ]
    table = make_table(
        columns,
        rows,
        right=["Attempt", "Score"],
        optional=["Score", "Kind", "Message"],
        dispensable=["Score", "Attempt"],
        name="Message" if any(row[-1] != DASH for row in rows) else "Task",
    )
    show(table)
