"""From the body of a submit to a run's configuration, or to every problem it has at once. No I/O."""

from proctor.gateway.submission.body import Submission, parse
from proctor.gateway.submission.checks import Accepted, Target, accept
from proctor.gateway.submission.findings import invalid

__all__ = ["Accepted", "Submission", "Target", "accept", "invalid", "parse"]
