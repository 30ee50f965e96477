"""The `proctor` command."""

import importlib.metadata
import logging
import os
import sys
from typing import Annotated, Final

import typer
from typer.exceptions import TyperException

from proctor.cli.commands import benchmark, run
from proctor.cli.commands.demo import demo
from proctor.cli.commands.doctor import doctor
from proctor.cli.commands.leaderboard import leaderboard
from proctor.cli.commands.rebuild import rebuild
from proctor.cli.commands.runner import runner
from proctor.cli.commands.up import up
from proctor.cli.failure import Failure
from proctor.cli.output import notice
from proctor.cli.usage import plain

_DEBUG: Final = "PROCTOR_DEBUG"

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="markdown")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"proctor {importlib.metadata.version('proctor-cli')}")
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", envvar=_DEBUG, help="Show the traceback of an error.")] = False,
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Benchmark AI agents on your own machines.

    `proctor demo` shows everything at work; `proctor up` starts the platform; the other commands talk to it.
    """
    if debug:
        os.environ[_DEBUG] = "1"


_PLATFORM: Final = "The platform"
_CLIENT: Final = "Benchmarks and runs"

for function in (demo, up, runner, rebuild, doctor):
    app.command(rich_help_panel=_PLATFORM)(function)
app.add_typer(benchmark.app, name="benchmark", rich_help_panel=_CLIENT)
app.add_typer(run.app, name="run", rich_help_panel=_CLIENT)
app.command(rich_help_panel=_CLIENT)(leaderboard)


def main() -> None:
    """One line for every error; its traceback with `--debug`."""
    logging.getLogger().addHandler(logging.NullHandler())
    try:
        sys.exit(app(standalone_mode=False))
    except TyperException as error:
        sys.exit(_explain(error))
    except typer.Abort:
        sys.exit(130)
    except Exception as error:
        if os.environ.get(_DEBUG):
            raise
        sys.exit(_report(error))


def _explain(error: TyperException) -> int:
    context = getattr(error, "ctx", None)
    path = getattr(context, "command_path", "proctor")
    if type(error).__name__ == "NoArgsIsHelpError":  # its help is printed already
        return error.exit_code
    notice(f"proctor: {plain(error.format_message())} (`{path} --help` shows what it takes)")
    return error.exit_code


def _report(error: Exception) -> int:
    if isinstance(error, Failure):
        notice(f"proctor: {error.message}")
        for line in error.details:
            notice(f"  {line}")
        return error.code
    notice(f"proctor: unexpected {type(error).__name__}: {error} (`proctor --debug ...` shows where)")
    return 70


if __name__ == "__main__":
    main()
