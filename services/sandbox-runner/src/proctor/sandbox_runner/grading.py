"""The sandboxes of one try, open to its grader: the agent's own, and those of separate verifiers."""

import asyncio
import time
from collections.abc import Mapping
from typing import Final

from proctor.contracts.work import AttemptWork
from proctor.sandbox_runner import collect
from proctor.sandbox_runner.aftermath import BROKEN, Aftermath
from proctor.sandbox_runner.archive import merge
from proctor.sandbox_runner.environment import labels_of, make_spec, verifier_network
from proctor.sandbox_runner.failure import Failure
from proctor.sandbox_runner.health import wait_healthy
from proctor.sandbox_runner.meter import Meter
from proctor.sandbox_runner.operations import Operations
from proctor.sandbox_runner.outside import Outside
from proctor.sandbox_runner.sandbox.protocol import Sandbox
from proctor.sandbox_runner.users import check_users, verifier_user
from proctor.tasks import Task, verifier_environment

LEFT_OUT: Final = "the declared artifacts are more than a separate verifier can get, or can't be read"


class Grading:
    """`aftermath` is that of the agent's own sandbox."""

    def __init__(
        self,
        work: AttemptWork,
        task: Task,
        values: Mapping[str, str],
        sandbox: Sandbox,
        outside: Outside,
        *,
        meter: Meter,
    ) -> None:
        self._work, self._task, self._values = work, task, values
        self._sandbox, self._outside, self._meter = sandbox, outside, meter
        self.aftermath = Aftermath(sandbox)
        self._spawned: list[Sandbox] = []
        self._open: list[Operations] = []

    async def open(self) -> None:
        await self._serve(self._sandbox, agents=True)

    async def close(self) -> None:
        for operations in self._open:
            await operations.close()
        for sandbox in self._spawned:
            await sandbox.stop()

    async def _serve(self, sandbox: Sandbox, *, agents: bool) -> None:
        operations = Operations(
            self._outside.connection,
            self._outside.objects,
            sandbox,
            self._task,
            self._spawn if agents else None,
            aftermath=self.aftermath if agents else None,
        )
        self._open.append(operations)
        await operations.open()

    async def _spawn(self, step: int | None) -> str:
        """A fresh sandbox for a separate verifier, with the declared artifacts where the agent had them."""
        config = self._task.steps[step].config if step is not None else None
        wanted = verifier_environment(self._task.path, self._task.config, config)
        if wanted is None:
            raise Failure("platform_error", "the task's verifier shares the agent's sandbox")
        spec = make_spec(
            identifier=f"{self._sandbox.id}-v{step or 0}",
            config=wanted.config,
            network=verifier_network(self._task.config, config) or wanted.config.network_mode,
            root=self._task.path,
            folder=wanted.folder,
            work=self._work,
            values=self._values,
            labels=labels_of(self._work, self._outside.worker),
        )
        backend, _ = await self._outside.backends.choose(spec)
        began = time.monotonic()
        sandbox = await backend.start(spec)
        self._spawned.append(sandbox)
        self._meter.verify(sandbox, began)
        await wait_healthy(sandbox, wanted.config.healthcheck)
        user = verifier_user(self._task, step)
        await check_users(sandbox, [(str(user), "[verifier] user")] if user is not None else [])
        async with self.aftermath.transfer():
            paths = ["/logs/artifacts", *collect.declared(self._task, step)]
            parts, cut = await collect.fetch(self._sandbox, paths)
        for folder, tar in parts:
            safe = await asyncio.to_thread(merge, [("", tar)], links=True)
            cut = cut or not safe.whole
            await sandbox.put(safe.data, folder)
        if cut:
            raise Failure(BROKEN, LEFT_OUT)
        await self._serve(sandbox, agents=False)
        return sandbox.id
