"""Holds a submission against its benchmark: harnesses, secrets, tasks, size."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from proctor.contracts.config import HARNESSES, MAX_RESULTS, Agent, RunConfig
from proctor.contracts.manifest import Manifest, ManifestTask
from proctor.gateway.submission.body import Submission
from proctor.gateway.submission.findings import closest, invalid
from proctor.gateway.submission.selection import select
from proctor.service.errors import Invalid, Issue

COMMAND_VARIABLE: Final = "PROCTOR_COMMAND"


@dataclass(frozen=True, slots=True)
class Target:
    """The benchmark as the read model shows it. `default_harness` is used where an agent names none."""

    benchmark: str
    key: str
    name: str
    status: str
    default_harness: str | None
    sync_done: int = 0
    sync_total: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """`config` with each agent's harness filled in and what it ignores taken out."""

    config: RunConfig
    tasks: int
    warnings: tuple[str, ...]


def accept(submission: Submission, target: Target, manifest: Manifest) -> Accepted:
    """Hold a submission against its benchmark. Raises `Invalid` with an issue for each problem."""
    config, warnings = _with_harnesses(submission.config, target.default_harness)
    issues = [*_harnesses(config, submission.provided), *_secret_references(config, submission.provided)]
    tasks, selection_issues = select(manifest, config.tasks)
    issues += selection_issues
    results = len(tasks) * len(config.agents) * config.execution.attempts_per_task
    if results > MAX_RESULTS:
        issues.append(
            Issue(
                "execution.attempts_per_task",
                f"{len(tasks)} tasks x {len(config.agents)} agents x {config.execution.attempts_per_task} attempts are "
                f"{results:,} results, more than {MAX_RESULTS:,}: choose fewer",
            )
        )
    if issues:
        raise invalid(issues)
    missing = _missing_variables(tasks, config, submission.provided)
    return Accepted(config, len(tasks), (*warnings, *missing))


def check_ready(target: Target) -> None:
    """Raises `Invalid` unless the benchmark's task list is complete."""
    reasons = {
        "pending": "waits for its first sync; submit again when it is ready",
        "syncing": f"is syncing, {target.sync_done} of {target.sync_total} tasks; submit again when it is ready",
        "failed": f"couldn't be synced: {target.error}; mend the source and sync it again",
    }
    if target.status != "ready":
        reason = reasons.get(target.status, f"is {target.status}")
        raise invalid([Issue("experiment.benchmark", f"{target.name!r} {reason}")])


def unknown_benchmark(wanted: str, known: Iterable[str]) -> Invalid:
    return invalid([Issue("experiment.benchmark", f"there is no benchmark {wanted!r} here", closest(wanted, known))])


def _with_harnesses(config: RunConfig, default: str | None) -> tuple[RunConfig, list[str]]:
    """The agents as they will run. A native harness calls no model, so it is not part of that agent."""
    agents: list[Agent] = []
    warnings: list[str] = []
    for index, agent in enumerate(config.agents):
        harness = HARNESSES.get(agent.harness or default or "")
        update: dict[str, Any] = {"harness": agent.harness or default}
        if harness is not None and harness.native and agent.model is not None:
            update["model"] = None
            warnings.append(f"agents[{index}].model: the harness {harness.name} calls no model and ignores it")
        agents.append(agent.model_copy(update=update))
    return config.model_copy(update={"agents": agents}), warnings


def _harnesses(config: RunConfig, provided: Mapping[str, str]) -> Iterator[Issue]:
    known = ", ".join(HARNESSES)
    for index, agent in enumerate(config.agents):
        key = f"agents[{index}].harness"
        if agent.harness is None:
            yield Issue(key, f"is required, the benchmark has no default: one of {known}")
        elif agent.harness not in HARNESSES:
            correction = closest(agent.harness, HARNESSES)
            yield Issue(key, f"there is no harness {agent.harness!r} here: one of {known}", correction)
        elif HARNESSES[agent.harness].needs_model and agent.model is None:
            yield Issue(f"agents[{index}].model", f"the harness {agent.harness} needs a model")
        elif agent.harness == "command" and not {**provided, **config.values(index)}.get(COMMAND_VARIABLE, "").strip():
            yield Issue(
                f"agents[{index}].env.{COMMAND_VARIABLE}", "the harness command runs what this variable says: set it"
            )


def _secret_references(config: RunConfig, provided: Mapping[str, str]) -> Iterator[Issue]:
    named: list[tuple[str, str | None]] = [
        (f"agents[{index}].model.api_key_secret", getattr(agent.model, "api_key_secret", None))
        for index, agent in enumerate(config.agents)
    ]
    named += [(f"agents[{i}].harness_api_key_secret", a.harness_api_key_secret) for i, a in enumerate(config.agents)]
    named.append(("execution.judge_api_key_secret", config.execution.judge_api_key_secret))
    named += [("verifier.required", name) for name in config.verifier.required]
    for key, name in named:
        if name is not None and name not in provided:
            yield Issue(key, f"the secret {name} has no value: list it in [secrets] and provide one with the run")


def _missing_variables(tasks: Sequence[ManifestTask], config: RunConfig, provided: Mapping[str, str]) -> Iterator[str]:
    """Variables that selected tasks need and some agent's environment lacks; only those tasks will fail."""
    have = [{*config.values(index), *provided} for index in range(len(config.agents))]
    lacking = Counter(
        name for task in tasks for name in task.needed_variables if any(name not in names for names in have)
    )
    for name, count in lacking.items():
        yield f"env: {count} of the selected tasks need {name}, which the run doesn't set; they will end in an error"
