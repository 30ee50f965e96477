"""How large a task and a dataset may be, packed by whomever."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that is unpacked from one archive; `depth` counts the parts of a path."""

    total_bytes: int = 2 << 30
    file_bytes: int = 1 << 30
    entries: int = 50_000
    depth: int = 32


TASK_LIMITS: Final = Limits()
# A task is at most 5 folders below the top of an upload.
DATASET_LIMITS: Final = Limits(total_bytes=8 << 30, entries=500_000, depth=TASK_LIMITS.depth + 5)
