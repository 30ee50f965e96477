"""The `proctor` command."""

import importlib.metadata
import logging
import os
import sys
from typing import Annotated, Final

import typer
from typer.completion import completion_init  # pyright: ignore[reportPrivateImportUsage] - no other place has it
from typer.exceptions import TyperException
from typer.main import get_group

from proctor.cli.access import INSECURE, PROFILE, WORKSPACE
from proctor.cli.commands import benchmark, device, profile, run, secret, token, user, vault, workspace
from proctor.cli.commands.audit import audit
from proctor.cli.commands.budget import budget
from proctor.cli.commands.compare import compare
from proctor.cli.commands.completion import PROGRAM, VARIABLE, completion
from proctor.cli.commands.config import config
from proctor.cli.commands.control import pause, resume, retry, stop_agent
from proctor.cli.commands.demo import demo
from proctor.cli.commands.doctor import doctor
from proctor.cli.commands.leaderboard import leaderboard
from proctor.cli.commands.login import login, logout, whoami
from proctor.cli.commands.marks import archive, note, tag, unarchive
from proctor.cli.commands.rebuild import rebuild
from proctor.cli.commands.rerun import rerun
from proctor.cli.commands.runner import runner
from proctor.cli.commands.up import up
from proctor.cli.completion import ProfileOption
from proctor.cli.ending import DEBUG, deaf, failed, interrupted, misread
from proctor.cli.global_options import arranged

app = typer.Typer(
    no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="markdown", add_completion=False
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"proctor {importlib.metadata.version('proctor-cli')}")
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", envvar=DEBUG, help="Show the traceback of an error.")] = False,
    chosen: Annotated[
        str | None,
        typer.Option("--workspace", envvar=WORKSPACE, help="Workspace to work in.", show_default="your first"),
    ] = None,
    profile_name: ProfileOption = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", envvar=INSECURE, help="Let the token go to another machine by plain http.")
    ] = False,
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Benchmark AI agents on your own machines.

    `proctor demo` shows everything at work; `proctor up` starts the platform; the other commands talk to it.
    """
    flag = {True: "1", False: None}
    given = {DEBUG: flag[debug], INSECURE: flag[insecure], WORKSPACE: chosen, PROFILE: profile_name}
    os.environ.update({variable: value for variable, value in given.items() if value})


_PLATFORM: Final = "The platform"
_CLIENT: Final = "Benchmarks and runs"
_ACCOUNTS: Final = "Accounts"

for function in (demo, up, runner, rebuild, doctor):
    app.command(rich_help_panel=_PLATFORM)(function)
app.add_typer(benchmark.app, name="benchmark", rich_help_panel=_CLIENT)
for function in (pause, resume, stop_agent, retry, rerun, compare, config, note, tag, archive, unarchive):
    run.app.command()(function)
app.add_typer(run.app, name="run", rich_help_panel=_CLIENT)
app.add_typer(secret.app, name="secret", rich_help_panel=_CLIENT)
app.command(rich_help_panel=_CLIENT)(leaderboard)
app.add_typer(vault.app, name="vault", rich_help_panel=_PLATFORM)
app.add_typer(token.app, name="token", rich_help_panel=_ACCOUNTS)
app.add_typer(user.app, name="user", rich_help_panel=_ACCOUNTS)
workspace.app.command()(budget)
app.add_typer(workspace.app, name="workspace", rich_help_panel=_ACCOUNTS)
app.command(rich_help_panel=_ACCOUNTS)(audit)
app.add_typer(device.app, name="device", rich_help_panel=_ACCOUNTS)
for function in (login, logout, whoami):
    app.command(rich_help_panel=_ACCOUNTS)(function)
app.add_typer(profile.app, name="profile", rich_help_panel=_ACCOUNTS)
app.command(rich_help_panel=_PLATFORM)(completion)


def main() -> None:
    """One line for every error; its traceback with `--debug`."""
    logging.getLogger().addHandler(logging.NullHandler())
    if VARIABLE in os.environ:
        completion_init()
    try:
        root = get_group(app)
        sys.exit(root(arranged(sys.argv[1:], root), prog_name=PROGRAM, standalone_mode=False))
    except TyperException as error:
        sys.exit(misread(error))
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(interrupted())
    except BrokenPipeError:
        sys.exit(deaf())
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        sys.exit(failed(error))


if __name__ == "__main__":
    main()
