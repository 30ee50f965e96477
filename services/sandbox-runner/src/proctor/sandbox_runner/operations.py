"""What a grader may do with a sandbox that this runner holds, each operation once however often it is asked for."""

import asyncio
import logging
import shlex
import time
from collections.abc import Awaitable, Callable
from typing import Final

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from pydantic import ValidationError

from proctor.contracts import subjects
from proctor.contracts.messages import Collect, Execute, PutFolders, SandboxAnswer, SandboxCall, Spawn
from proctor.objects import Objects
from proctor.sandbox_runner.archive import folder_tar, merge, read_files
from proctor.sandbox_runner.collect import fetch
from proctor.sandbox_runner.failure import Failure
from proctor.sandbox_runner.sandbox.errors import SandboxError
from proctor.sandbox_runner.sandbox.protocol import Sandbox
from proctor.tasks import Task

logger = logging.getLogger(__name__)

INLINE_BYTES: Final = 16 * 1024
COLLECT_BYTES: Final = 64 << 20
LONGEST_WAIT: Final = 60.0

SpawnVerifier = Callable[[int | None], Awaitable[str]]


class Operations:
    """Serves `sandbox.<id>.*` until closed. `spawn` starts a separate verifier's sandbox and returns its id."""

    def __init__(
        self, connection: Client, objects: Objects, sandbox: Sandbox, task: Task, spawn: SpawnVerifier | None
    ) -> None:
        self._connection, self._objects = connection, objects
        self._sandbox, self._task, self._spawn = sandbox, task, spawn
        self._running: dict[str, asyncio.Task[SandboxAnswer]] = {}
        self._replies: set[asyncio.Task[None]] = set()
        self._subscription: Subscription | None = None

    async def open(self) -> None:
        self._subscription = await self._connection.subscribe(subjects.sandbox(self._sandbox.id, "*"), cb=self._receive)

    async def close(self) -> None:
        """Cancel what runs, and tell those who wait that the sandbox is gone; once more is no error."""
        for task in self._running.values():
            task.cancel()
        await asyncio.gather(*self._running.values(), return_exceptions=True)
        subscription, self._subscription = self._subscription, None
        if subscription is not None and not self._connection.is_closed:
            await subscription.unsubscribe()

    async def _receive(self, message: Msg) -> None:
        # a long wait must not hold up the next message
        reply = asyncio.create_task(self._reply(message))
        self._replies.add(reply)
        reply.add_done_callback(self._replies.discard)

    async def _reply(self, message: Msg) -> None:
        try:
            call = SandboxCall.model_validate_json(message.data)
        except ValidationError as error:
            answer = SandboxAnswer(status="error", kind="platform_error", message=_problem(error))
        else:
            answer = await self._answer(call)
        if message.reply:
            await self._connection.publish(message.reply, answer.model_dump_json().encode())

    async def _answer(self, call: SandboxCall) -> SandboxAnswer:
        running = self._running.get(call.request.id)
        if running is None:
            running = self._running[call.request.id] = asyncio.create_task(self._perform(call))
        done, _ = await asyncio.wait([running], timeout=min(call.wait, LONGEST_WAIT))
        if not done:
            return SandboxAnswer(status="running")
        return SandboxAnswer(status="gone") if running.cancelled() else running.result()

    async def _perform(self, call: SandboxCall) -> SandboxAnswer:
        started = time.monotonic()
        try:
            answer = await self._do(call)
        except (SandboxError, Failure) as error:
            return SandboxAnswer(status="error", kind=str(error.kind), message=error.message)
        except FileNotFoundError as error:
            return SandboxAnswer(status="error", kind="verifier_missing", message=str(error))
        except Exception:
            logger.exception("operation %s failed", call.request.id)
            return SandboxAnswer(status="error", kind="platform_error", message="the runner failed; see its log")
        return answer.model_copy(update={"seconds": time.monotonic() - started})

    async def _do(self, call: SandboxCall) -> SandboxAnswer:
        match call.request:
            case PutFolders() as put:
                return await self._put(put)
            case Execute() as execute:
                result = await self._sandbox.exec(
                    execute.command,
                    env=execute.env,
                    cwd=execute.cwd,
                    user=execute.user,
                    timeout=execute.timeout,
                    max_output=0,
                )
                return SandboxAnswer(status="done", returncode=result.returncode, timed_out=result.timed_out)
            case Collect() as collect:
                return await self._collect(collect)
            case Spawn() as spawn:
                if self._spawn is None:
                    raise Failure("platform_error", "a verifier's sandbox can't have another")
                return SandboxAnswer(status="done", sandbox=await self._spawn(spawn.step))

    async def _put(self, put: PutFolders) -> SandboxAnswer:
        if put.clean:
            emptied = await self._sandbox.exec(_emptied(put.clean), user="root", timeout=60, max_output=0)
            if emptied.returncode != 0:
                raise Failure("transfer_failed", f"{' and '.join(put.clean)} can't be emptied in the sandbox")
        root = self._task.path
        folders = [root / name for name in put.folders if (root / name).resolve().is_relative_to(root)]
        tar = await asyncio.to_thread(folder_tar, *(folder for folder in folders if folder.is_dir()))
        await self._sandbox.put(tar, put.target)
        return SandboxAnswer(status="done")

    async def _collect(self, collect: Collect) -> SandboxAnswer:
        parts, cut = await fetch(self._sandbox, [collect.path], COLLECT_BYTES)
        if cut:  # what the verifier's log takes, its reward must not lose
            named, _ = await fetch(self._sandbox, [f"{collect.path}/{name}" for name in collect.inline], COLLECT_BYTES)
            parts += named
        merged = await asyncio.to_thread(merge, [(part.folder, part.tar) for part in parts])
        root = collect.path.strip("/")
        inline = read_files(merged.data, {f"{root}/{name}" for name in collect.inline}, INLINE_BYTES)
        if merged.files:
            await self._objects.put(collect.object, merged.data)
        return SandboxAnswer(
            status="done",
            files={name.removeprefix(f"{root}/"): content for name, content in inline.items()},
            object=collect.object if merged.files else None,
            size=len(merged.data),
            count=merged.files,
            cut=cut or not merged.whole,
        )


def _emptied(paths: tuple[str, ...]) -> str:
    """A link planted in place of a folder is removed, not followed."""
    folders = shlex.join(paths)
    return f"rm -rf -- {folders} && mkdir -p -m 777 -- {folders} && chmod 777 -- {folders}"


def _problem(error: ValidationError) -> str:
    """Without the input, which may hold a secret."""
    first = error.errors(include_input=False, include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"not an operation: {place}: {first['msg']}"
