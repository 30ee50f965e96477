"""What ends a command: one line for people, and an exit code."""

from enum import IntEnum


class Exit(IntEnum):
    """Scripts rely on them: see the README."""

    OK = 0
    UNMET = 1
    """A run that didn't finish, a check that failed, something here that can't be used."""
    USAGE = 2
    """The command line, or a file or setting that it takes its words from."""
    REFUSED = 3
    UNREACHABLE = 4
    UNEXPECTED = 70
    TIMED_OUT = 124
    """As timeout(1) has it."""
    INTERRUPTED = 130


class Failure(Exception):
    """`message` says what is wrong and what to do; `details` are further lines, one problem each."""

    def __init__(self, message: str, *, details: tuple[str, ...] = (), code: int = Exit.UNMET) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        self.code = code


class Misused(Failure):
    """What the command was given can't be read: nothing was asked of a platform."""

    def __init__(self, message: str, *, details: tuple[str, ...] = ()) -> None:
        super().__init__(message, details=details, code=Exit.USAGE)
