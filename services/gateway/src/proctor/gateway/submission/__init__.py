"""From the body of a submit to a run's configuration, or to every problem it has at once. No I/O."""

from proctor.gateway.submission.body import Submission, parse
from proctor.gateway.submission.checks import Accepted, Target, accept, check_ready, unknown_benchmark
from proctor.gateway.submission.findings import invalid

__all__ = ["Accepted", "Submission", "Target", "accept", "check_ready", "invalid", "parse", "unknown_benchmark"]
