"""The error policy's rules that hold for every row."""

import pytest

from proctor.contracts.outcomes import MAX_REDISPATCHES, POLICY, Fault, policy


@pytest.mark.parametrize("kind", POLICY)
def test_only_the_platform_and_the_provider_are_retried_and_only_the_agent_counts(kind: str) -> None:
    row = policy(kind)
    assert row.retry is (row.fault in {Fault.INFRASTRUCTURE, Fault.PROVIDER})
    assert row.counts is (row.fault is Fault.AGENT)
    assert row.counts or not row.grade, "what is graded counts"


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        ("runner_lost", Fault.INFRASTRUCTURE),
        ("provider_rate_limited", Fault.PROVIDER),
        ("secret_missing", Fault.CONFIGURATION),
        ("agent_timeout", Fault.AGENT),
        ("reward_missing", Fault.VERIFIER),
        ("never_heard_of", Fault.INFRASTRUCTURE),
        ("", Fault.INFRASTRUCTURE),
    ],
)
def test_whose_failure_it_is(kind: str, fault: Fault) -> None:
    assert policy(kind).fault is fault


def test_a_broken_sandbox_is_a_failure_without_a_grade() -> None:
    row = policy("agent_broke_sandbox")
    assert (row.grade, row.counts) == (False, True)


def test_three_lost_leases_are_survived() -> None:
    assert MAX_REDISPATCHES == 3
