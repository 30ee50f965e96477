"""What a grader may do with a sandbox that this runner holds, each operation once however often it is asked for."""

import asyncio
import contextlib
import logging
import posixpath
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
from proctor.sandbox_runner.aftermath import BROKEN, Aftermath
from proctor.sandbox_runner.archive import folder_tar, merge, read_files
from proctor.sandbox_runner.collect import Part, fetch
from proctor.sandbox_runner.failure import Failure
from proctor.sandbox_runner.sandbox.errors import SandboxError
from proctor.sandbox_runner.sandbox.protocol import Sandbox
from proctor.sandbox_runner.users import check_users
from proctor.tasks import Task

logger = logging.getLogger(__name__)

INLINE_BYTES: Final = 16 * 1024
COLLECT_BYTES: Final = 64 << 20
LONGEST_WAIT: Final = 60.0

SpawnVerifier = Callable[[int | None], Awaitable[str]]


class Operations:
    """Serves `sandbox.<id>.*` until closed. `spawn` starts a separate verifier's sandbox and returns its id.
    `aftermath` is that of an agent's sandbox; a verifier's own has none."""

    def __init__(
        self,
        connection: Client,
        objects: Objects,
        sandbox: Sandbox,
        task: Task,
        spawn: SpawnVerifier | None,
        *,
        aftermath: Aftermath | None = None,
    ) -> None:
        self._connection, self._objects = connection, objects
        self._sandbox, self._task, self._spawn = sandbox, task, spawn
        self._aftermath = aftermath
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
                return await self._execute(execute)
            case Collect() as collect:
                return await self._collect(collect)
            case Spawn() as spawn:
                if self._spawn is None:
                    raise Failure("platform_error", "a verifier's sandbox can't have another")
                return SandboxAnswer(status="done", sandbox=await self._spawn(spawn.step))

    def _transfer(self) -> contextlib.AbstractAsyncContextManager[None]:
        return self._aftermath.transfer() if self._aftermath else contextlib.nullcontext()

    async def _execute(self, execute: Execute) -> SandboxAnswer:
        async with self._aftermath.blamed() if self._aftermath else contextlib.nullcontext():
            if self._aftermath and execute.user:
                await check_users(self._sandbox, [(execute.user, "user")])
            result = await self._sandbox.exec(
                execute.command,
                env=execute.env,
                cwd=execute.cwd,
                user=execute.user,
                timeout=execute.timeout,
                max_output=0,
            )
        return SandboxAnswer(status="done", returncode=result.returncode, timed_out=result.timed_out)

    async def _put(self, put: PutFolders) -> SandboxAnswer:
        root = self._task.path
        folders = [root / name for name in put.folders if (root / name).resolve().is_relative_to(root)]
        tar = await asyncio.to_thread(folder_tar, *(folder for folder in folders if folder.is_dir()))
        async with self._transfer():
            if put.clean:
                await self._empty(put.clean)
            await self._sandbox.put(tar, put.target)
        return SandboxAnswer(status="done")

    async def _empty(self, paths: tuple[str, ...]) -> None:
        code = _emptied(paths, self._sandbox.workdir)
        emptied = await self._sandbox.exec(code, cwd="/", user="root", timeout=60, max_output=0)
        if emptied.returncode != 0:
            raise Failure("transfer_failed", f"{' and '.join(paths)} can't be emptied in the sandbox")

    async def _fetch(self, collect: Collect) -> tuple[list[Part], bool]:
        parts, cut = await fetch(self._sandbox, [collect.path], COLLECT_BYTES)
        if not cut:
            return parts, False
        # what the verifier's log takes, its reward must not lose
        names = [f"{collect.path}/{name}" for name in collect.inline]
        named, lost = await fetch(self._sandbox, names, COLLECT_BYTES)
        if lost and self._aftermath:
            raise Failure("transfer_failed", f"what the verifier wrote to {collect.path} can't be read")
        return parts + named, True

    async def _collect(self, collect: Collect) -> SandboxAnswer:
        async with self._transfer():
            parts, cut = await self._fetch(collect)
        merged = await asyncio.to_thread(merge, [(part.folder, part.tar) for part in parts])
        root = collect.path.strip("/")
        inline = read_files(merged.data, {f"{root}/{name}" for name in collect.inline}, INLINE_BYTES)
        if self._aftermath and not merged.whole and not inline:
            raise Failure(BROKEN, f"after the agent, what comes out of the sandbox as {collect.path} is no archive")
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


def _emptied(paths: tuple[str, ...], workdir: str) -> str:
    """What was planted in place of a folder, or of one above it, is removed, not followed. A working directory that
    was removed is there again, empty."""
    folders = shlex.join(paths)
    above = shlex.join(dict.fromkeys(parent for path in paths for parent in _above(path)))
    place = shlex.quote(workdir)
    return (
        f'for each in {above}; do [[ -d $each && ! -L $each ]] || rm -rf -- "$each" || exit; done; '
        f"rm -rf -- {folders} && mkdir -p -m 777 -- {folders} && chmod 777 -- {folders} && "
        f"{{ [[ -d {place} ]] || {{ rm -rf -- {place} && mkdir -p -- {place}; }}; }}"
    )


def _above(path: str) -> list[str]:
    """The folders above an absolute path, the highest first, without the root."""
    parents: list[str] = []
    while (path := posixpath.dirname(path)) != "/":
        parents.insert(0, path)
    return parents


def _problem(error: ValidationError) -> str:
    """Without the input, which may hold a secret."""
    first = error.errors(include_input=False, include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"not an operation: {place}: {first['msg']}"
