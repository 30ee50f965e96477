"""`proctor rebuild`: the read models anew from the log."""

import os
import subprocess
import sys
import time

from proctor.cli.access import find_running, home_of
from proctor.cli.failure import Failure
from proctor.cli.output import HomeOption, JsonOption, print_json, say
from proctor.cli.platform.last_words import said


def rebuild(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Rebuild every read model from the event log and swap it in.

    The platform keeps running meanwhile. PROCTOR_NATS_URL and PROCTOR_DATABASE_URL name another than the home's.
    """
    env = dict(os.environ)
    if not {"PROCTOR_NATS_URL", "PROCTOR_DATABASE_URL"} <= env.keys():
        running = find_running(home_of(home))
        env |= {"PROCTOR_NATS_URL": running.nats_url, "PROCTOR_DATABASE_URL": running.database_url}
    env |= {"PROCTOR_HOME": str(home_of(home).root), "PROCTOR_LOG_FORMAT": "json", "PROCTOR_LOG_LEVEL": "info"}
    if not as_json:
        say("rebuilding the read models from the event log; the platform goes on meanwhile")
    began = time.monotonic()
    argv = [sys.executable, "-m", "proctor.leaderboard", "rebuild"]
    done = subprocess.run(argv, env=env, stderr=subprocess.PIPE, text=True, check=False)
    words = said(done.stderr.splitlines())
    if done.returncode or not words:
        raise Failure("the read models couldn't be rebuilt; the old ones stay", details=words)
    took = time.monotonic() - began
    if as_json:
        print_json({"rebuilt": words[-1], "seconds": round(took, 3)})
    else:
        say(f"{words[-1]} in {took:.1f} s; the new read models are in use")
