"""From the body of a submit to a run's configuration, or to every problem it has at once. No I/O."""

from proctor.gateway.submission.body import Submission, parse
from proctor.gateway.submission.checks import Accepted, Target, accept
from proctor.gateway.submission.findings import invalid
from proctor.gateway.submission.references import referenced
from proctor.gateway.submission.secrets import SecretsMissing

__all__ = ["Accepted", "SecretsMissing", "Submission", "Target", "accept", "invalid", "parse", "referenced"]
