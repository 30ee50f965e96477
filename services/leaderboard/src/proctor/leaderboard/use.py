"""What sandboxes used, added up over the phases of several of them."""

from collections.abc import Iterable

from pydantic import TypeAdapter

from proctor.contracts.metering import PhaseUse

_LIST: TypeAdapter[tuple[PhaseUse, ...]] = TypeAdapter(tuple[PhaseUse, ...])


def added(known: str | None, more: Iterable[PhaseUse]) -> str | None:
    """A row's use by phase, as JSON, with that of one more sandbox."""
    by_phase = {part.phase: part for part in (_LIST.validate_json(known) if known else ())}
    for part in more:
        before = by_phase.get(part.phase)
        by_phase[part.phase] = part if before is None else _sum(before, part)
    return _LIST.dump_json(tuple(by_phase.values())).decode() if by_phase else None


def _sum(one: PhaseUse, other: PhaseUse) -> PhaseUse:
    peaks = [part.memory_peak_bytes for part in (one, other) if part.memory_peak_bytes is not None]
    return PhaseUse(
        phase=one.phase,
        seconds=one.seconds + other.seconds,
        cpu_seconds=cpu_of((one, other)),
        memory_peak_bytes=max(peaks, default=None),
    )


def cpu_of(use: Iterable[PhaseUse]) -> float | None:
    """None where no part was measured."""
    measured = [part.cpu_seconds for part in use if part.cpu_seconds is not None]
    return sum(measured) if measured else None


def peak_of(use: Iterable[PhaseUse]) -> int | None:
    return max((part.memory_peak_bytes for part in use if part.memory_peak_bytes is not None), default=None)
