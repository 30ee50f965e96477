"""What ends a command: one line for people, and an exit code."""


class Failure(Exception):
    """`message` says what is wrong and what to do; `details` are further lines, one problem each."""

    def __init__(self, message: str, *, details: tuple[str, ...] = (), code: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        self.code = code
