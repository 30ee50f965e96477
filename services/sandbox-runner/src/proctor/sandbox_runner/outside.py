"""Everything a try reaches outside its sandbox: the log, the objects, the vault, the back ends."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

from nats.aio.client import Client

from proctor.contracts.events import AttemptCleaned, RunEvent
from proctor.contracts.events.attempt import OfAttempt
from proctor.contracts.ids import sandbox_id
from proctor.contracts.messages import Held, VaultRequest
from proctor.contracts.metering import PhaseUse
from proctor.eventlog import EventLog, Unavailable
from proctor.objects import Objects
from proctor.sandbox_runner.backends import Backends
from proctor.sandbox_runner.failure import Failure
from proctor.sandbox_runner.journal import Journal
from proctor.service.identity import Identity
from proctor.service.packages import Packages
from proctor.service.vault import NO_VALUES, Values, ask_values

logger = logging.getLogger(__name__)

PATIENCE_SECONDS: Final = 600.0


class Publisher(Protocol):
    """What is published for: an epoch that may be over."""

    @property
    def held(self) -> Held: ...
    @property
    def over(self) -> bool: ...


class Outside:
    """`patience`: seconds for which a bus that is away is waited for."""

    def __init__(self, connection: Client, identity: Identity, home: Path, backends: Backends) -> None:
        self.connection, self.worker, self.backends = connection, identity.worker, backends
        self.objects = Objects(connection)
        self.packages = Packages(home / "cache" / "packages", self.objects)
        self.folder = identity.folder
        self.patience = PATIENCE_SECONDS
        self.journal = Journal(identity.folder / "held")
        self._log = EventLog(connection, identity.worker)

    async def publish(self, one: Publisher, event: RunEvent) -> int | None:
        """Append a fact of an epoch that isn't over. A repeat after a lost ack is one event, by its message id."""
        return None if one.over else await self._append(one.held, event)

    async def cleaned(self, held: Held, use: Sequence[PhaseUse] = ()) -> None:
        """Say that what this runner had is gone, and what it used."""
        await self._say_cleaned(held, self.worker, self.journal, use)

    async def cleaned_for(self, worker: str | None, held: Held, journal: Journal) -> None:
        """Say it for another; None is whoever had it. Struck from `journal` once it is said."""
        await self._say_cleaned(held, worker, journal)

    async def _say_cleaned(
        self, held: Held, worker: str | None, journal: Journal, use: Sequence[PhaseUse] = ()
    ) -> None:
        identifier = sandbox_id(held.run, held.attempt, held.epoch)
        cleaned = AttemptCleaned(
            attempt=held.attempt, epoch=held.epoch, sandbox=identifier, worker=worker, use=tuple(use)
        )
        try:
            await self._append(held, cleaned)
        except Unavailable as error:
            logger.warning("that %s is cleaned stays unsaid until the next start: %s", identifier, error)
        else:
            journal.remove(held)

    async def _append(self, held: Held, event: RunEvent) -> int:
        step = getattr(event, "step", None)
        place = f"{event.attempt}.{event.epoch}" if isinstance(event, OfAttempt) else ""
        return await self._log.append(
            event,
            workspace=held.workspace,
            aggregate="run",
            id=held.run,
            message_id=f"{held.run}.{place}.{event.type}.{step}.{self.worker}",
            patience=self.patience,
        )

    async def values(self, held: Held, *, needed: bool) -> Values:
        """What the vault has for the attempt. Raises `Failure`."""
        if not needed:
            return NO_VALUES
        try:
            return await ask_values(self.connection, VaultRequest(held=held, worker=self.worker))
        except LookupError as error:
            raise Failure("secret_missing", str(error)) from error
        except TimeoutError:
            raise Failure("platform_error", "the vault doesn't answer") from None
