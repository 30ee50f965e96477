"""The back end this runner prefers, and bubblewrap for the tasks whose image can't be had."""

import asyncio
import logging
from pathlib import Path

from proctor.sandbox_runner.sandbox.bubblewrap_backend import BubblewrapBackend
from proctor.sandbox_runner.sandbox.choose import Setting, choose_backend, fallback_reason
from proctor.sandbox_runner.sandbox.errors import SandboxError
from proctor.sandbox_runner.sandbox.protocol import Backend, SandboxSpec

logger = logging.getLogger(__name__)


class Backends:
    """`reason` says why `preferred` is what it is. With the setting `auto` a task may fall back."""

    def __init__(self, preferred: Backend, reason: str, fallback: Backend | None) -> None:
        self.preferred, self.reason = preferred, reason
        self._fallback = fallback
        self._reasons: dict[str, asyncio.Task[str | None]] = {}

    async def choose(self, spec: SandboxSpec) -> tuple[Backend, str | None]:
        """The back end for a task, its image made, and why it isn't the preferred one where it isn't. Raises
        `SandboxError`."""
        reason = await self._reason(spec)
        if reason is None or self._fallback is None:
            return self.preferred, None
        await self._fallback.prepare(spec)
        return self._fallback, f"{reason}; bubblewrap instead, which is not for untrusted agents"

    async def _reason(self, spec: SandboxSpec) -> str | None:
        """Asked once for each image; a back end that said yes is asked no more. A build goes on for the others when
        one who waits for it is told to stop."""
        known = self._reasons.get(spec.environment_digest)
        if known is None or (known.done() and (known.cancelled() or known.exception() or known.result())):
            known = asyncio.create_task(self._ask(spec))
            self._reasons[spec.environment_digest] = known
        return await asyncio.shield(known)

    async def _ask(self, spec: SandboxSpec) -> str | None:
        if self._fallback is not None:
            return await fallback_reason(self.preferred, spec)
        return await self.preferred.prepare(spec)

    async def close(self) -> None:
        await self.preferred.close()
        if self._fallback is not None:
            await self._fallback.close()


async def open_backends(setting: Setting, *, installation: str, host: str, folder: Path) -> Backends:
    """Raises `SandboxError` when what the setting asks for can't be had here."""
    choice = await choose_backend(setting, installation=installation, host=host, state=folder / "bubblewrap")
    fallback: Backend | None = None
    if setting == "auto" and not choice.backend.trusted_only:
        fallback = await _bubblewrap(folder)
    logger.info("sandboxes by %s: %s", choice.backend.name, choice.reason)
    return Backends(choice.backend, choice.reason, fallback)


async def _bubblewrap(folder: Path) -> Backend | None:
    backend = BubblewrapBackend(folder / "bubblewrap")
    try:
        await backend.probe()
    except SandboxError as error:
        logger.info("no bubblewrap to fall back to: %s", error.message)
        return None
    return backend


async def forget_processes(folder: Path) -> None:
    """Remove what an ended runner's bubblewrap sandboxes left in `folder`; their processes died with it."""
    state = folder / "bubblewrap"
    if state.is_dir():
        backend = BubblewrapBackend(state)
        try:
            await backend.sweep([])
        except SandboxError as error:
            logger.debug("nothing to forget in %s: %s", folder.name, error.message)
