"""How often one caller may do what is costly or can be guessed at: a bucket per caller that holds a minute's worth and
refills evenly. In memory, so each gateway process counts for itself."""

import math
import time
from collections.abc import Callable, Mapping
from typing import Final, Literal

from proctor.service.errors import TooMany

type Bucket = Literal["sign_in", "tokens", "device", "submits"]

_MINUTE: Final = 60.0
_MOST_CALLERS: Final = 10_000
_EXCESS: Final[Mapping[Bucket, str]] = {
    "sign_in": "too many failed sign-ins from this address",
    "tokens": "too many tokens made",
    "device": "too many device sign-ins from this address",
    "submits": "too many runs submitted",
}


class Limits:
    """`per_minute` 0 is no limit."""

    def __init__(self, per_minute: Mapping[Bucket, int], clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._full_at: dict[tuple[Bucket, str], float] = {}

    def check(self, bucket: Bucket, key: str) -> None:
        """Take one. Raises `TooMany` when none is left."""
        self.peek(bucket, key)
        if allowed := self._per_minute[bucket]:
            self._forget_idle()
            now = self._clock()
            self._full_at[bucket, key] = max(now, self._full_at.get((bucket, key), now)) + _MINUTE / allowed

    def peek(self, bucket: Bucket, key: str) -> None:
        """Raises `TooMany` when none is left, and takes none."""
        allowed = self._per_minute[bucket]
        if not allowed or (full_at := self._full_at.get((bucket, key))) is None:
            return
        wait = full_at + _MINUTE / allowed - _MINUTE - self._clock()
        if wait > 1e-6:
            seconds = math.ceil(wait)
            raise TooMany(f"{_EXCESS[bucket]}; try again in {seconds} s", retry_after=seconds)

    def _forget_idle(self) -> None:
        if len(self._full_at) >= _MOST_CALLERS:
            now = self._clock()
            self._full_at = {caller: full_at for caller, full_at in self._full_at.items() if full_at > now}
