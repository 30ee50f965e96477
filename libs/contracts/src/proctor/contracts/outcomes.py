"""The error policy: one table decides for every error kind whether a try is repeated, graded and counted."""

from enum import StrEnum
from typing import Final, NamedTuple


class Outcome(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    ERRORED = "errored"
    CANCELLED = "cancelled"


class Fault(StrEnum):
    """Whose failure an error kind is."""

    INFRASTRUCTURE = "infrastructure"
    PROVIDER = "provider"
    CONFIGURATION = "configuration"
    AGENT = "agent"
    VERIFIER = "verifier"


class Policy(NamedTuple):
    """`retry`: repeat while `max_retries` allows. `grade`: run the verifier all the same.
    `counts`: the graded result enters the scores."""

    fault: Fault
    retry: bool
    grade: bool
    counts: bool


_INFRASTRUCTURE = Policy(Fault.INFRASTRUCTURE, retry=True, grade=False, counts=False)
_PROVIDER = Policy(Fault.PROVIDER, retry=True, grade=False, counts=False)
_CONFIGURATION = Policy(Fault.CONFIGURATION, retry=False, grade=False, counts=False)
_AGENT = Policy(Fault.AGENT, retry=False, grade=True, counts=True)
_VERIFIER = Policy(Fault.VERIFIER, retry=False, grade=False, counts=False)

POLICY: Final[dict[str, Policy]] = {
    # the platform or its machines
    "runner_lost": _INFRASTRUCTURE,
    "grader_unavailable": _INFRASTRUCTURE,
    "engine_unavailable": _INFRASTRUCTURE,
    "engine_permission": _INFRASTRUCTURE,
    "start_failed": _INFRASTRUCTURE,
    "start_timeout": _INFRASTRUCTURE,
    "build_timeout": _INFRASTRUCTURE,
    "image_missing": _INFRASTRUCTURE,
    "sandbox_gone": _INFRASTRUCTURE,
    "disk_full": _INFRASTRUCTURE,
    "transfer_too_large": _INFRASTRUCTURE,
    "transfer_failed": _INFRASTRUCTURE,
    "package_missing": _INFRASTRUCTURE,
    "package_corrupt": _INFRASTRUCTURE,
    "setup_failed": _INFRASTRUCTURE,
    "setup_timeout": _INFRASTRUCTURE,
    "healthcheck_failed": _INFRASTRUCTURE,
    "platform_error": _INFRASTRUCTURE,
    # the model's provider
    "provider_rate_limited": _PROVIDER,
    "provider_overloaded": _PROVIDER,
    "provider_unreachable": _PROVIDER,
    # what the task, the run or its secrets say
    "build_failed": _CONFIGURATION,
    "unsupported_environment": _CONFIGURATION,
    "task_invalid": _CONFIGURATION,
    "variable_missing": _CONFIGURATION,
    "secret_missing": _CONFIGURATION,
    "solution_missing": _CONFIGURATION,
    "command_missing": _CONFIGURATION,
    "user_missing": _CONFIGURATION,
    "provider_unauthorized": _CONFIGURATION,
    "model_unknown": _CONFIGURATION,
    # the agent under test
    "agent_timeout": _AGENT,
    "agent_exit_nonzero": _AGENT,
    "agent_command_not_found": _AGENT,
    "agent_killed": _AGENT,
    "agent_out_of_memory": _AGENT,
    "agent_broke_sandbox": Policy(Fault.AGENT, retry=False, grade=False, counts=True),
    # the task's verifier
    "verifier_timeout": _VERIFIER,
    "reward_missing": _VERIFIER,
    "reward_empty": _VERIFIER,
    "reward_unparsable": _VERIFIER,
    "reward_not_finite": _VERIFIER,
    "reward_no_keys": _VERIFIER,
    "reward_ambiguous": _VERIFIER,
    "verifier_missing": _VERIFIER,
}

MAX_REDISPATCHES: Final = 3
"""Lost leases an attempt survives whatever `max_retries` says, and lost graders in one epoch; drained ones don't
count."""


def policy(kind: str) -> Policy:
    """The row of a kind. An unknown kind is the platform's own fault: retried, never a score."""
    return POLICY.get(kind, _INFRASTRUCTURE)
