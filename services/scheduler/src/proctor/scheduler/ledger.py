"""What each workspace's months have used. A run counts, whole, in the month in which it was submitted (UTC)."""

from collections.abc import Iterable

from proctor.contracts import subjects
from proctor.contracts.folds import run as runs
from proctor.contracts.folds.run import RunState
from proctor.eventlog import EventLog
from proctor.scheduler.budget import Used, total, used_by
from proctor.scheduler.track import Month, Track, month_of


class Ledger:
    """Closed runs are read from the log once for a month that has a limit; open ones are counted as they stand."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._closed: dict[Month, dict[str, Used]] = {}
        self._complete: set[Month] = set()

    def close(self, track: Track) -> None:
        """The run's last event was folded."""
        if track.month is not None:
            self._closed.setdefault(track.month, {})[track.state.run] = used_by(track.state)

    async def complete(self, month: Month, open_runs: Iterable[str]) -> None:
        """Read the month's runs that are neither open nor were closed in front of us."""
        if month in self._complete:
            return
        workspace, _ = month
        submitted = f"ev.{workspace}.run.*.gateway.run.submitted"
        wanted = [record.id async for record in self._log.read(submitted) if month_of(record) == month]
        known = self._closed.setdefault(month, {})
        for run in wanted:
            if run not in known and run not in set(open_runs):
                known[run] = used_by(await self._folded(workspace, run))
        self._complete.add(month)

    async def _folded(self, workspace: str, run: str) -> RunState:
        state = RunState(workspace, run)
        async for record in self._log.read(subjects.run_events(workspace, run)):
            runs.apply(state, record)
        return state

    def used(self, month: Month, tracks: Iterable[Track]) -> Used:
        closed = self._closed.get(month, {})
        going = [track for track in tracks if track.month == month and track.state.run not in closed]
        written = Used(attempts=sum(track.pending for track in going))
        return total([*closed.values(), *(used_by(track.state) for track in going), written])
