"""A sandbox that a runner holds, as a grader reaches it: by operations that run once however often they are asked."""

import asyncio
from typing import Final

import nats.errors
from nats.aio.client import Client

from proctor.contracts import subjects
from proctor.contracts.messages import SandboxAnswer, SandboxCall, SandboxRequest
from proctor.grader.failure import GradingError

ATTACHED_SECONDS: Final = 15.0


class NobodyServes(Exception):
    """No runner has this sandbox now: the one that spawned it was started again."""


class RemoteSandbox:
    def __init__(self, connection: Client, identifier: str, *, spawned: bool = False) -> None:
        self._connection, self.id, self._spawned = connection, identifier, spawned

    async def call(self, request: SandboxRequest) -> SandboxAnswer:
        """The operation's result, however long it takes. A runner that is silent may be restarting: it is asked
        until the scheduler says that the grading is over. Raises `GradingError`, and `NobodyServes` for a spawned
        sandbox, which a restarted runner doesn't take up again."""
        payload = SandboxCall(request=request, wait=ATTACHED_SECONDS).model_dump_json().encode()
        subject = subjects.sandbox(self.id, request.op)
        while True:
            try:
                reply = await self._connection.request(subject, payload, timeout=ATTACHED_SECONDS + 5)
            except nats.errors.NoRespondersError as error:
                await asyncio.sleep(0.5)
                if self._spawned:
                    raise NobodyServes(self.id) from error
                continue
            except (nats.errors.Error, TimeoutError):
                await asyncio.sleep(0.5)
                continue
            answer = SandboxAnswer.model_validate_json(reply.data)
            match answer.status:
                case "done":
                    return answer
                case "running":
                    continue
                case "gone":
                    raise GradingError("sandbox_gone", "the sandbox was removed before it was graded")
                case "error":
                    raise GradingError(answer.kind or "platform_error", answer.message or "the sandbox failed")
