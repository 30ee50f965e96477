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
