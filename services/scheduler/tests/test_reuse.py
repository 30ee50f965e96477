"""Results are taken over only from the very same settings; anything else is measured again."""

from collections.abc import Callable
from typing import Any

import pytest

from proctor.contracts.folds.run import RunState, apply
from proctor.contracts.ids import Cell
from proctor.contracts.manifest import RunLock
from proctor.scheduler.reuse import reuse

MakeStory = Callable[..., Any]
FINGERPRINTS = ("a1", "b2")
MODEL = {"type": "provider", "model": "openai/m", "api_key_secret": "KEY"}


def told(make_story: MakeStory, **shape: Any) -> Any:
    """A run of two agents on two tasks: three results count, one attempt was cancelled."""
    story = make_story(tasks=2, agents=2, **shape)
    story.state.submitted = story.state.submitted.model_copy(update={"settings": FINGERPRINTS})
    config = story.track.lock.config
    named = config.agents[1].model_copy(update={"harness": "nop", "name": "idle"})
    story.track.lock = story.track.lock.model_copy(
        update={"config": config.model_copy(update={"agents": [config.agents[0], named]})}
    )
    for key in ("0-0-1", "0-1-1"):
        story.until("passed", key)
    story.until("grading", "1-0-1")
    story.attempt("attempt.graded", "1-0-1", passed=False, score="0")
    story.until("claimed", "1-1-1")
    story.run("attempts_cancelled", reason="enough")
    return story


def changed(lock: RunLock, path: str, value: Any) -> RunLock:
    """The lock with one field, `a.b.0.c`, as if another had been written there."""
    body = lock.model_dump()
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    place: Any = body
    for part in parents:
        place = place[part]
    place[last] = value
    return RunLock.model_validate(body)


def test_what_counts_is_taken_over_and_what_was_cancelled_is_run(make_story: MakeStory) -> None:
    story = told(make_story)
    event = reuse(story.state.submitted, story.track.lock, story.state, story.track.lock)
    assert (event.agents, event.tasks, event.outcomes, event.count) == ((0, 1), (0, 1), ("pp", "f."), 3)
    assert (event.source, event.source_name, event.position) == ("r", "calm-otter", story.sequence)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("proctor_version", "9"),
        ("pass_threshold", "0.75"),
        ("reward_key", "quality"),
        ("benchmark", "other"),
        ("config.execution.timeout_multiplier", 2.0),
        ("judge", {"kind": "key", "key_variable": "OPENAI_API_KEY"}),
        ("config.verifier.required", ["KEY"]),
    ],
)
def test_nothing_is_taken_over_from_another_measurement(make_story: MakeStory, path: str, value: Any) -> None:
    story = told(make_story)
    event = reuse(story.state.submitted, changed(story.track.lock, path, value), story.state, story.track.lock)
    assert (event.count, event.outcomes) == (0, ("", ""))


@pytest.mark.parametrize(
    ("path", "value", "outcomes"),
    [
        ("config.agents.0.model", MODEL, ("", "f.")),
        ("config.agents.0.env", {"DEBUG": ""}, ("", "f.")),
        ("config.agents.1.name", "renamed", ("pp", "")),
        ("config.agents.1.harness", "oracle", ("pp", "")),
        ("tasks.0.digest", "sha256:1", (".p", "..")),
        ("tasks.1.environment_digest", "other", ("p.", "f.")),
        ("config.execution.max_concurrent_attempts", 64, ("pp", "f.")),
        ("config.execution.attempts_per_task", 2, ("p.p.", "f...")),
    ],
)
def test_an_agent_or_a_task_that_changed_is_measured_again(
    make_story: MakeStory, path: str, value: Any, outcomes: tuple[str, str]
) -> None:
    story = told(make_story)
    event = reuse(story.state.submitted, changed(story.track.lock, path, value), story.state, story.track.lock)
    assert event.outcomes == outcomes


@pytest.mark.parametrize("settings", [("a1", "other"), ()])
def test_other_values_or_unknown_ones_are_other_settings(make_story: MakeStory, settings: tuple[str, ...]) -> None:
    story = told(make_story)
    submitted = story.state.submitted.model_copy(update={"settings": settings})
    event = reuse(submitted, story.track.lock, story.state, story.track.lock)
    assert event.outcomes == (("pp", "") if settings else ("", ""))


def test_agents_and_tasks_may_stand_elsewhere(make_story: MakeStory) -> None:
    story = told(make_story)
    lock, submitted = story.track.lock, story.state.submitted
    turned = lock.model_copy(
        update={
            "tasks": lock.tasks[::-1],
            "config": lock.config.model_copy(update={"agents": lock.config.agents[::-1]}),
        }
    )
    event = reuse(submitted.model_copy(update={"settings": FINGERPRINTS[::-1]}), turned, story.state, lock)
    assert (event.agents, event.tasks, event.outcomes) == ((1, 0), (1, 0), (".f", "pp"))


def test_of_equal_agents_each_takes_over_ones_results(make_story: MakeStory) -> None:
    story = told(make_story)
    config = story.track.lock.config
    same = changed(story.track.lock, "config.agents.1", config.agents[0].model_dump())
    submitted = story.state.submitted.model_copy(update={"settings": ("a1", "a1")})
    story.state.submitted = submitted
    event = reuse(submitted, same, story.state, same)
    assert (event.agents, event.outcomes) == ((0, 1), ("pp", "f."))
    alone = changed(same, "config.agents", [config.agents[0].model_dump()])
    one = submitted.model_copy(update={"settings": ("a1",)})
    assert reuse(one, alone, story.state, same).agents == (0,)


def test_a_source_that_is_gone_has_nothing(make_story: MakeStory) -> None:
    story = told(make_story)
    event = reuse(story.state.submitted, story.track.lock, RunState("w", "gone"), None)
    assert (event.source, event.count, event.outcomes) == ("gone", 0, ("", ""))


def test_the_run_that_takes_over_has_exactly_these_outcomes(make_story: MakeStory) -> None:
    story = told(make_story)
    event = reuse(story.state.submitted, story.track.lock, story.state, story.track.lock)
    later = make_story(tasks=2, agents=2, run="later")
    apply(later.state, later.say(event))
    assert {key: attempt.status for key, attempt in later.state.attempts.items()} == {
        "0-0-1": "passed",
        "0-1-1": "passed",
        "1-0-1": "failed",
    }
    assert later.track.next_attempt(0.0) == str(Cell(1, 1, 1))
