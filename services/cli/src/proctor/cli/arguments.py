"""What several commands take, with what a shell completes it from."""

from typing import Annotated

import typer

from proctor.cli.completion import complete_agent, complete_benchmark, complete_run

RunArgument = Annotated[str, typer.Argument(help="Name or id of a run.", autocompletion=complete_run)]
BenchmarkArgument = Annotated[
    str, typer.Argument(help="Key, name or id of a benchmark.", autocompletion=complete_benchmark)
]
BenchmarkOption = Annotated[
    str | None, typer.Option("--benchmark", help="Only runs of this benchmark.", autocompletion=complete_benchmark)
]
AgentOption = Annotated[
    str | None,
    typer.Option("--agent", help="Only this agent: its name, or its number from 0.", autocompletion=complete_agent),
]
