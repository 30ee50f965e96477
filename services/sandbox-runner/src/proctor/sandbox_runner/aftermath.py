"""A sandbox after its agent: what fails inside it now is the agent's doing, and gets little time.

It was fine before the agent began. Else an agent could choose a repeat over a score of 0.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from proctor.sandbox_runner.failure import Failure
from proctor.sandbox_runner.sandbox.errors import ErrorKind, SandboxError
from proctor.sandbox_runner.sandbox.protocol import Sandbox

SECONDS: Final = 30.0
"""For all transfers between one agent phase and the end of its grading."""
COLLECT_SECONDS: Final = 15.0
"""Of these, what the runner's own collecting may take; what isn't there by then is left out of the artifacts."""

BROKEN: Final = "agent_broke_sandbox"
_FACTS_SECONDS: Final = 10.0
_INSIDE: Final = frozenset(
    {
        ErrorKind.TRANSFER_FAILED,
        ErrorKind.TRANSFER_TOO_LARGE,
        ErrorKind.DISK_FULL,
        ErrorKind.USER_MISSING,
        ErrorKind.START_FAILED,  # of a command: its shell is gone
    }
)


class Aftermath:
    """`left`: the seconds that transfers may still take."""

    def __init__(self, sandbox: Sandbox, seconds: float = SECONDS) -> None:
        self._sandbox, self._seconds, self.left = sandbox, seconds, seconds

    def renew(self) -> None:
        """Another agent phase has ended."""
        self.left = self._seconds

    @asynccontextmanager
    async def transfer(self) -> AsyncGenerator[None]:
        """Raises `Failure` by what goes wrong in here, and when it takes longer than what is left."""
        began, deadline = time.monotonic(), asyncio.timeout(max(0.0, self.left))
        try:
            async with self.blamed(), deadline:
                yield
        except TimeoutError:
            if not deadline.expired():
                raise
            message = f"after the agent, the sandbox took more than {self._seconds:g} s for its files"
            raise Failure(BROKEN, message) from None
        finally:
            self.left -= time.monotonic() - began

    @asynccontextmanager
    async def blamed(self) -> AsyncGenerator[None]:
        """Raises `Failure` by what goes wrong in here, unless it is the engine's."""
        try:
            yield
        except (SandboxError, Failure) as error:
            kind, message = await blame(self._sandbox, str(error.kind), error.message)
            raise Failure(kind, message) from error


async def blame(sandbox: Sandbox, kind: str, message: str) -> tuple[str, str]:
    """The kind and message of a failure in a sandbox that an agent had."""
    if kind == ErrorKind.SANDBOX_GONE:
        return await _how_it_died(sandbox)
    if kind in _INSIDE:
        return BROKEN, f"the sandbox doesn't work any more after the agent: {message}"
    return kind, message


async def _how_it_died(sandbox: Sandbox) -> tuple[str, str]:
    facts: dict[str, object] = {}
    try:
        async with asyncio.timeout(_FACTS_SECONDS):
            facts = await sandbox.facts()
    except SandboxError as error:
        return str(error.kind), error.message
    except TimeoutError:
        pass
    if facts.get("oom_killed"):
        return "agent_out_of_memory", "the agent used more memory than the task allows, and the sandbox died of it"
    return BROKEN, "the sandbox ended by what the agent did in it"
