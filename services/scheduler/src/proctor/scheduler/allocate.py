"""Who goes next: round-robin over workspaces, then over each workspace's runs, one attempt at a time. The one that
was served longest ago comes first, so that the round goes on where it was however few places are free."""

from collections.abc import Sequence

from proctor.scheduler.track import Track


def turns(tracks: Sequence[Track]) -> list[Track]:
    """Runs in the order of one round: the first of each workspace, then the second of each."""
    workspaces: dict[str, list[Track]] = {}
    for track in sorted(tracks, key=lambda track: (track.served, track.state.submitted_sequence)):
        workspaces.setdefault(track.state.workspace, []).append(track)
    by_workspace = sorted(workspaces.values(), key=lambda runs: runs[-1].served)
    longest = max((len(runs) for runs in by_workspace), default=0)
    return [runs[place] for place in range(longest) for runs in by_workspace if place < len(runs)]


def share(tracks: Sequence[Track], free: int, now: float) -> list[Track]:
    """The runs that may dispatch one attempt now, at most one each, so that no run starves behind another.
    `free` is the pool's capacity."""
    ready = [
        track
        for track in turns(tracks)
        if track.lock is not None and track.settled_down and track.slots() > 0 and track.next_attempt(now)
    ]
    return ready[: max(0, free)]
