"""`proctor rebuild`: the read models anew from the log."""

import os
import sys

from proctor.cli.access import find_running, home_of
from proctor.cli.output import HomeOption


def rebuild(home: HomeOption = None) -> None:
    """Rebuild every read model from the event log and swap it in.

    The platform keeps running meanwhile. PROCTOR_NATS_URL and PROCTOR_DATABASE_URL name another than the home's.
    """
    env = dict(os.environ)
    if not {"PROCTOR_NATS_URL", "PROCTOR_DATABASE_URL"} <= env.keys():
        running = find_running(home_of(home))
        env |= {"PROCTOR_NATS_URL": running.nats_url, "PROCTOR_DATABASE_URL": running.database_url}
    env |= {"PROCTOR_HOME": str(home_of(home).root), "PROCTOR_LOG_FORMAT": "text"}
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, "-m", "proctor.leaderboard", "rebuild"], env)  # noqa: S606 - no shell
