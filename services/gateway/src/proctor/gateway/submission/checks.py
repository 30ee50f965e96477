"""Holds a submission against its benchmark: harnesses, secrets, tasks, size."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from proctor.contracts.config import HARNESSES, MAX_RESULTS, Agent, RunConfig
from proctor.contracts.entrant import agent_name
from proctor.contracts.judge import JudgeRule
from proctor.contracts.manifest import Manifest
from proctor.gateway.submission.body import Submission
from proctor.gateway.submission.findings import closest, invalid
from proctor.gateway.submission.judging import judging
from proctor.gateway.submission.references import task_variables, unstored
from proctor.gateway.submission.secrets import SecretsMissing
from proctor.gateway.submission.selection import select
from proctor.service.errors import Issue

COMMAND_VARIABLE: Final = "PROCTOR_COMMAND"
_NOTHING: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class Target:
    """The benchmark as the read model shows it. `default_harness` is used where an agent names none."""

    benchmark: str
    key: str
    name: str
    status: str
    default_harness: str | None
    managed: bool = False
    judge: JudgeRule | None = None
    sync_done: int = 0
    sync_total: int = 0
    error: str | None = None

    @property
    def ready(self) -> bool:
        return self.status == "ready"


@dataclass(frozen=True, slots=True)
class Accepted:
    """`config` with each agent's harness filled in and what it ignores taken out."""

    config: RunConfig
    tasks: int
    warnings: tuple[str, ...]


def accept(
    submission: Submission,
    target: Target | None,
    manifest: Manifest | None,
    known: Iterable[str] = (),
    stored: Mapping[str, str] = _NOTHING,
) -> Accepted:
    """Hold a submission against its benchmark. `target` is None where there is no such benchmark, `known` are those
    that may have been meant; `manifest` is a ready one's task list; `stored` says for the names of secrets where
    their values would come from. Raises `Invalid` with an issue for each problem, those of the submission by itself
    included: `SecretsMissing` where there is no other."""
    config, warnings = _with_harnesses(submission.config, target.default_harness if target else None)
    tasks, selection_issues = select(manifest, config.tasks) if manifest else ([], [])
    issues = [
        *submission.issues,
        *_benchmark(submission.benchmark, target, known),
        *selection_issues,
        *_harnesses(submission, config, target),
        *(judging(submission, target.judge, managed=target.managed) if target else ()),
        *_size(submission, len(tasks)),
    ]
    missing = list(unstored(submission, config, stored))
    if issues or manifest is None:
        raise invalid([*issues, *(issue for _, issue in missing)])
    if missing:
        raise SecretsMissing(dict.fromkeys(name for name, _ in missing), invalid(issue for _, issue in missing))
    judge = target.judge if target else None
    judged = {judge.key_variable, judge.model_variable} if judge else set[str | None]()
    return Accepted(
        config, len(tasks), (*warnings, *_same_entrants(config), *task_variables(tasks, config, stored, judged))
    )


def _benchmark(wanted: str | None, target: Target | None, known: Iterable[str]) -> Iterator[Issue]:
    """Unless the benchmark is there and its task list is complete."""
    if wanted is None:
        return
    if target is None:
        yield Issue("experiment.benchmark", f"there is no benchmark {wanted!r} here", closest(wanted, known))
    elif not target.ready:
        reasons = {
            "pending": "waits for its first sync; submit again when it is ready",
            "syncing": f"is syncing, {target.sync_done} of {target.sync_total} tasks; submit again when it is ready",
            "failed": f"couldn't be synced: {target.error}; mend the source and sync it again",
        }
        reason = reasons.get(target.status, f"is {target.status}")
        yield Issue("experiment.benchmark", f"{target.name!r} {reason}")


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


def _harnesses(submission: Submission, config: RunConfig, target: Target | None) -> Iterator[Issue]:
    """What is missing is told only where nothing was left out: there, what was written is at fault."""
    known = ", ".join(HARNESSES)
    for index, agent in enumerate(config.agents):
        key = f"agents[{index}].harness"
        if agent.harness is None:
            if target is not None and submission.reads("agents", index, "harness"):
                yield Issue(key, f"is required, the benchmark has no default: one of {known}")
        elif agent.harness not in HARNESSES:
            correction = closest(agent.harness, HARNESSES)
            yield Issue(key, f"there is no harness {agent.harness!r} here: one of {known}", correction)
        elif HARNESSES[agent.harness].needs_model and agent.model is None:
            if submission.reads("agents", index, "model"):
                yield Issue(f"agents[{index}].model", f"the harness {agent.harness} needs a model")
        elif agent.harness == "command" and not _command(submission, index):
            yield Issue(
                f"agents[{index}].env.{COMMAND_VARIABLE}", "the harness command runs what this variable says: set it"
            )


def _command(submission: Submission, agent: int) -> bool:
    """Whether the agent's environment has a command, if only one that was left out."""
    if COMMAND_VARIABLE in submission.secrets.required:
        return True
    values = submission.config.values(agent)
    places = (("agents", agent, "env", COMMAND_VARIABLE), ("env", COMMAND_VARIABLE), ("secrets",))
    return bool(values.get(COMMAND_VARIABLE, "").strip()) or not all(submission.reads(*place) for place in places)


def _size(submission: Submission, tasks: int) -> Iterator[Issue]:
    """Of a selection or a number of attempts that was left out, the size isn't known."""
    attempts, agents = submission.config.execution.attempts_per_task, len(submission.config.agents)
    results = tasks * agents * attempts
    known = submission.reads("execution", "attempts_per_task") and all(
        place[0] != "tasks" for place in submission.left_out
    )
    if known and results > MAX_RESULTS:
        yield Issue(
            "execution.attempts_per_task",
            f"{tasks} tasks x {agents} agents x {attempts} attempts are {results:,} results, more than "
            f"{MAX_RESULTS:,}: choose fewer",
        )


def _same_entrants(config: RunConfig) -> Iterator[str]:
    """A board has one row for each entrant."""
    names = [agent_name(agent).entrant for agent in config.agents]
    last = {name: index for index, name in enumerate(names)}
    for index, name in enumerate(names):
        if last[name] != index:
            yield (
                f"agents[{index}]: is the same entrant as agents[{last[name]}], {name}; only the later one counts on "
                "the leaderboard. Give each agent a name of its own to have both there"
            )
