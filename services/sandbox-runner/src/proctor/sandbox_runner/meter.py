"""What the sandboxes of one try use, phase by phase."""

import asyncio
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from proctor.contracts.metering import PhaseUse, UsePhase, added
from proctor.sandbox_runner.sandbox.protocol import Sandbox, Usage


class Span(NamedTuple):
    """A phase that ended, and what the sandbox had used by then in all its life."""

    phase: UsePhase
    seconds: float
    usage: Usage


class _Ended(NamedTuple):
    phase: UsePhase
    seconds: float
    reading: asyncio.Task[Usage]


@dataclass(slots=True)
class Meter:
    """`sandbox` is the agent's own. Nothing here waits but `close`: readings are taken beside what goes on."""

    sandbox: Sandbox | None = None
    _open: tuple[UsePhase, float] | None = None
    _ended: list[_Ended] = field(default_factory=list[_Ended])
    _verifiers: list[tuple[Sandbox, float]] = field(default_factory=list[tuple[Sandbox, float]])

    def enter(self, phase: UsePhase) -> None:
        """A phase begins, and the one before it ends."""
        self._end()
        self._open = phase, time.monotonic()

    def adopt(self, sandbox: Sandbox) -> None:
        """Of a sandbox of an earlier life of this runner it is known what it used, not for how long."""
        self.sandbox = sandbox
        self._read("agent", 0.0, sandbox)
        self.enter("grade")

    def verify(self, sandbox: Sandbox, began: float) -> None:
        """A separate verifier's sandbox, started at that monotonic time."""
        self._verifiers.append((sandbox, began))

    async def close(self) -> tuple[PhaseUse, ...]:
        """The use of all, while the sandboxes are still there. Empty when there was none."""
        self._end()
        now = time.monotonic()
        verifiers = [(now - began, asyncio.create_task(sandbox.usage())) for sandbox, began in self._verifiers]
        spans = [Span(phase, seconds, await reading) for phase, seconds, reading in self._ended]
        own = list(attributed(spans))
        return added([*own, *[_use(Span("grade", seconds, await reading)) for seconds, reading in verifiers]])

    def _end(self) -> None:
        if self._open is not None and self.sandbox is not None:
            phase, began = self._open
            self._read(phase, time.monotonic() - began, self.sandbox)
        self._open = None

    def _read(self, phase: UsePhase, seconds: float, sandbox: Sandbox) -> None:
        self._ended.append(_Ended(phase, seconds, asyncio.create_task(sandbox.usage())))


def attributed(spans: Iterable[Span]) -> Iterator[PhaseUse]:
    """To each phase what was used in it. Of one whose end couldn't be read, the next that could has it."""
    known = 0.0
    for span in spans:
        total = span.usage.cpu_seconds
        yield _use(span, already=known)
        known = known if total is None else max(known, total)


def _use(span: Span, already: float = 0.0) -> PhaseUse:
    phase, seconds, (cpu, peak) = span
    own = None if cpu is None else max(0.0, cpu - already)
    return PhaseUse(phase=phase, seconds=seconds, cpu_seconds=own, memory_peak_bytes=peak)
