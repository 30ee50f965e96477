"""How a command that went wrong ends: a line for people, or one of JSON, and an exit code."""

import os
import sys
from typing import Final

from typer.exceptions import TyperException

from proctor.cli.client import Refused
from proctor.cli.failure import Exit, Failure
from proctor.cli.output import notice, tell, wants_json
from proctor.cli.usage import plain

DEBUG: Final = "PROCTOR_DEBUG"


def misread(error: TyperException) -> int:
    """A command line that can't be read."""
    if type(error).__name__ == "NoArgsIsHelpError":  # its help is printed already
        return error.exit_code
    path = getattr(getattr(error, "ctx", None), "command_path", "proctor")
    _say(Failure(f"{plain(error.format_message())} (`{path} --help` shows what it takes)"))
    return error.exit_code


def interrupted() -> int:
    if wants_json():
        _say(Failure("interrupted"))
    return Exit.INTERRUPTED


def deaf() -> int:
    """Whoever read the answer has gone, as `head` does once it has enough."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is buffered has nowhere to go either
    return Exit.UNMET


def failed(error: Exception) -> int:
    if not isinstance(error, Failure):
        hint = "`proctor --debug ...` shows where"
        error = Failure(f"unexpected {type(error).__name__}: {error} ({hint})", code=Exit.UNEXPECTED)
    _say(error)
    return error.code


def _say(failure: Failure) -> None:
    if not wants_json():
        notice(f"proctor: {failure.message}")
        for line in failure.details:
            notice(f"  {line}")
        return
    refusal = {"status": failure.status, "code": failure.problem} if isinstance(failure, Refused) else {}
    tell("error", {"message": failure.message, "details": failure.details, **refusal})
