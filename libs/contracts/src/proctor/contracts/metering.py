"""What a sandbox used, by phase, and what that costs. Its price is the installation's own, apart from the LLM cost."""

from collections.abc import Iterable
from typing import Final, Literal

from pydantic import Field

from proctor.contracts.work import Frozen

UsePhase = Literal["environment", "setup", "agent", "collect", "grade"]

_HOUR: Final = 3600.0
_GIBIBYTE: Final = 2**30


class PhaseUse(Frozen):
    """`cpu_seconds` and `memory_peak_bytes` are None where the back end has no control group to read them from. The
    peak is that of the sandbox's life up to the end of the phase."""

    phase: UsePhase
    seconds: float = Field(ge=0)
    cpu_seconds: float | None = Field(default=None, ge=0)
    memory_peak_bytes: int | None = Field(default=None, ge=0)


class SandboxRates(Frozen):
    """US dollars: for an hour of a sandbox, of a CPU, and of a GiB of memory at its peak."""

    hour: float = Field(default=0.0, ge=0)
    cpu_hour: float = Field(default=0.0, ge=0)
    gibibyte_hour: float = Field(default=0.0, ge=0)


def added(parts: Iterable[PhaseUse]) -> tuple[PhaseUse, ...]:
    """A part for each phase, in the order they first began. One of which nothing is known is left out."""
    sums: dict[UsePhase, PhaseUse] = {}
    for part in parts:
        sums[part.phase] = _plus(sums[part.phase], part) if part.phase in sums else part
    return tuple(part for part in sums.values() if part.seconds or part.cpu_seconds is not None)


def _plus(one: PhaseUse, other: PhaseUse) -> PhaseUse:
    return PhaseUse(
        phase=one.phase,
        seconds=one.seconds + other.seconds,
        cpu_seconds=cpu_of((one, other)),
        memory_peak_bytes=peak_of((one, other)),
    )


def cpu_of(use: Iterable[PhaseUse]) -> float | None:
    """None where no part was measured."""
    measured = [part.cpu_seconds for part in use if part.cpu_seconds is not None]
    return sum(measured) if measured else None


def peak_of(use: Iterable[PhaseUse]) -> int | None:
    return max((part.memory_peak_bytes for part in use if part.memory_peak_bytes is not None), default=None)


def sandbox_cost(use: Iterable[PhaseUse], rates: SandboxRates) -> float:
    """In dollars. What wasn't measured costs nothing."""
    return sum(
        (
            part.seconds * (rates.hour + rates.gibibyte_hour * (part.memory_peak_bytes or 0) / _GIBIBYTE)
            + (part.cpu_seconds or 0) * rates.cpu_hour
        )
        / _HOUR
        for part in use
    )
