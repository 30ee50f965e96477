"""When a program that died is started again: for ever, but ever slower; unless it never ran at all."""

from dataclasses import dataclass
from typing import Final

from proctor.service.settings import CANNOT_BE_READ

LONG_SECONDS: Final = 60.0
"""A life as long as this makes up for all deaths before it."""

DELAYS: Final = (0.2, 0.2, 0.5, 0.5, 1.0, 1.0, 2.0, 2.0, 4.0, 8.0, 16.0, 30.0)
FAILED_STARTS: Final = 10


@dataclass(frozen=True, slots=True)
class Deaths:
    """`row`: since the last long life. `failed_starts`: in a row with an error of its own, before it was ready."""

    row: int = 0
    failed_starts: int = 0
    ever_ready: bool = False
    unusable: bool = False

    def and_one(self, life: float, code: int | None, *, was_ready: bool) -> "Deaths":
        """After a life of so many seconds. `code` is negative for a signal, None when it couldn't be run at all."""
        failed = not was_ready and (code is None or code > 0)
        return Deaths(
            row=1 if life >= LONG_SECONDS else self.row + 1,
            failed_starts=self.failed_starts + 1 if failed else 0,
            ever_ready=self.ever_ready or was_ready,
            unusable=failed and code in {None, CANNOT_BE_READ},
        )

    @property
    def hopeless(self) -> bool:
        """What was ready once may be so again, however long what it needs is away."""
        return not self.ever_ready and (self.unusable or self.failed_starts >= FAILED_STARTS)

    @property
    def delay(self) -> float:
        """Seconds until the next start."""
        return DELAYS[min(max(self.row, 1), len(DELAYS)) - 1]
