"""One agent of a run: its counts by status and what its tries used up."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from proctor.contracts.entrant import AgentName
from proctor.contracts.events import Usage
from proctor.contracts.folds.attempt import AttemptState
from proctor.contracts.folds.run import DEAREST_USD
from proctor.contracts.metering import PhaseUse, SandboxRates, cpu_of, peak_of, sandbox_cost
from proctor.contracts.states import IN_SLOT, TERMINAL_ATTEMPT, TERMINAL_RUN, AttemptStatus, RunStatus

MOST: Final = 2**53


@dataclass(slots=True)
class AgentModel:
    """One agent's counts and the sums over all its tries; a sum is None until somebody reported."""

    name: AgentName
    tally: Counter[AttemptStatus] = field(default_factory=Counter[AttemptStatus])
    counted: int = 0
    tries_ended: int = 0
    tokens_reported: int = 0
    cost_reported: int = 0
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    sandbox_seconds: float | None = None
    cpu_seconds: float | None = None
    memory_peak_bytes: int | None = None
    sandbox_cost_usd: float | None = None
    reused: int = 0
    position: int = 0

    @property
    def in_progress(self) -> int:
        return sum(self.tally[status] for status in IN_SLOT)

    def move(self, before: AttemptState | None, after: AttemptState) -> None:
        """Count an attempt where it is now, and no longer where it was."""
        if before is not None:
            self.tally[before.status] -= 1
        self.tally[after.status] += 1
        self.counted += after.counts and after.status in TERMINAL_ATTEMPT

    def report(self, said: Usage) -> None:
        usage = plausible(said)
        self.tries_ended += 1
        self.tokens_reported += usage.input_tokens is not None and usage.output_tokens is not None
        self.cost_reported += usage.cost_usd is not None
        self.input_tokens = _plus(self.input_tokens, usage.input_tokens)
        self.cached_tokens = _plus(self.cached_tokens, usage.cached_tokens)
        self.output_tokens = _plus(self.output_tokens, usage.output_tokens)
        self.cost_usd = _plus(self.cost_usd, usage.cost_usd)

    def used(self, seconds: float, use: Sequence[PhaseUse], rates: SandboxRates) -> None:
        """One more sandbox is gone."""
        self.sandbox_seconds = _plus(self.sandbox_seconds, seconds)
        self.cpu_seconds = _plus(self.cpu_seconds, cpu_of(use))
        peaks = [peak for peak in (self.memory_peak_bytes, peak_of(use)) if peak is not None]
        self.memory_peak_bytes = max(peaks, default=None)
        if use:
            self.sandbox_cost_usd = _plus(self.sandbox_cost_usd, sandbox_cost(use, rates))

    def status(self, expected: int, run: RunStatus) -> str:
        """As `proctor.contracts.folds.run.agent_status`, from the counts alone."""
        done = sum(self.tally[status] for status in TERMINAL_ATTEMPT)
        if self.tally[AttemptStatus.CANCELLED]:
            return "stopped"
        if expected and done == expected:
            return "finished" if self.counted else "failed"
        if run in TERMINAL_RUN:
            return "stopped" if run is RunStatus.STOPPED else "failed"
        return "running" if self.tally.total() else "pending"


def plausible(usage: Usage) -> Usage:
    """What a harness can't have meant is unknown: negative, not finite, too dear, or beyond what a float counts
    exactly."""
    most = {"cost_usd": DEAREST_USD}
    return Usage(
        **{name: value if value is None or 0 <= value <= most.get(name, MOST) else None for name, value in usage}
    )


def _plus[Number: (int, float)](total: Number | None, reported: Number | None) -> Number | None:
    return total if reported is None else reported if total is None else total + reported
