"""An ended run once more: the same pinned tasks, with the agents and as many attempts as wanted."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from proctor.contracts.config import MAX_AGENTS, RunConfig
from proctor.contracts.events import RunSubmitted
from proctor.contracts.events.run import Budget
from proctor.gateway import configuration
from proctor.gateway.access.principal import Principal
from proctor.gateway.edges import Edges
from proctor.gateway.folds import run_head
from proctor.gateway.intents.control import submission_of
from proctor.gateway.intents.runs import (
    Order,
    Pinned,
    Submitted,
    accept_for,
    claim_of,
    is_repeat,
    launch,
)
from proctor.gateway.intents.settings import settings_of
from proctor.gateway.literals import has_literals, may_see, with_values
from proctor.gateway.readmodel import benchmarks
from proctor.gateway.submission import invalid, parse
from proctor.gateway.submission.secrets import SecretsMissing
from proctor.gateway.vault.values import literals_of
from proctor.objects import ObjectMissing
from proctor.service.errors import Conflicting, Forbidden, Invalid, Issue, NotFound

_AGENT_KEY: Final = re.compile(r"agents\[(\d+)\]")


class Rerun(BaseModel):
    """`all` measures everything again; `errored` takes over the results that count, where everything they depend on
    is equal. Without a mode: `errored` when there are `add_agents` or `attempts_per_task`, else `all`. `agents` are
    those of the source that are in it again, by index: every one where it is absent. `secrets` and `budget_config`
    are those of a submit; without the latter, the limits that the source asked for itself."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: Literal["all", "errored"] | None = None
    agents: Annotated[list[Annotated[int, Field(ge=0, strict=True)]], Field(max_length=MAX_AGENTS)] | None = None
    add_agents: Annotated[list[dict[str, Any]], Field(max_length=MAX_AGENTS)] = []
    attempts_per_task: Annotated[int, Field(strict=True)] | None = None
    secrets: dict[str, Any] | None = None
    budget_config: dict[str, Any] | None = None

    @property
    def reuse(self) -> bool:
        return self.mode == "errored" or (self.mode is None and bool(self.add_agents or self.attempts_per_task))


async def rerun(edges: Edges, who: Principal, source: str, wanted: Rerun, key: str | None) -> Submitted:
    """The new run. Raises `Conflicting` while the source goes on, and what a submit raises."""
    claim = claim_of(edges, who, {"rerun_of": source, **wanted.model_dump(mode="json")}, key)
    if await is_repeat(edges, claim):
        return Submitted(claim.run, 0, None, ())
    submitted = await _ended(edges, who.workspace, source)
    if has_literals(submitted.config) and not may_see(who, submitted.submitted_by):
        raise Forbidden(
            "that run has values of its own, which would be yours to read: only who submitted it and admins rerun it"
        )
    chosen = _chosen(submitted.config, wanted)
    whole = await with_values(edges, who.workspace, source, submitted.config)
    submission = parse(_body(whole, chosen, wanted, submitted.own_budget))
    try:
        accepted = await accept_for(edges, who, submission, await _target(edges, who.workspace, submitted))
    except SecretsMissing as error:
        raise _to_supply(error, submitted) from None
    except Invalid as error:
        raise invalid(_rekeyed(error.issues, len(chosen))) from None
    except ObjectMissing:
        raise Conflicting("the task list of that run's version is no longer stored; submit it anew") from None
    computed = settings_of(edges.sealer, literals_of(accepted.config))
    order = Order(
        submission,
        accepted,
        Pinned(**submitted.model_dump(include=set(Pinned._fields))),
        settings=_settings(submitted, chosen, computed),
        rerun_of=source,
        reuse=wanted.reuse,
    )
    return await launch(edges, who, claim, order)


async def _ended(edges: Edges, workspace: str, run: str) -> RunSubmitted:
    head = await run_head(edges.log, workspace, run)
    if head is None:
        raise NotFound("there is no such run in this workspace")
    if not head.state.ended:
        raise Conflicting(
            f"the run is {head.state.status}: rerun it when it has ended, or stop it first", code="RUN_GOES_ON"
        )
    return submission_of(head.state)


def _chosen(config: RunConfig, wanted: Rerun) -> list[int]:
    """The source's agents that are in it again. Raises `Invalid`."""
    count = len(config.agents)
    chosen = list(range(count)) if wanted.agents is None else wanted.agents
    issues = [
        Issue(f"agents[{place}]", f"that run has no agent {agent}: it has {count}, counted from 0")
        for place, agent in enumerate(chosen)
        if agent >= count
    ]
    issues += [Issue("agents", f"{agent} is there twice") for agent in sorted(set(chosen)) if chosen.count(agent) > 1]
    if not chosen and not wanted.add_agents:
        issues.append(Issue("agents", "must have at least 1, or add_agents must"))
    if issues:
        raise invalid(issues)
    return chosen


def _body(whole: RunConfig, chosen: Sequence[int], wanted: Rerun, budget: Budget | None) -> dict[str, Any]:
    """The submit that it amounts to."""
    agents = [whole.agents[agent] for agent in chosen]
    body = configuration.body(whole.model_copy(update={"agents": agents}))
    body["agents"] = [*body["agents"], *wanted.add_agents]
    if wanted.attempts_per_task is not None:
        body["execution_config"] = {**body["execution_config"], "attempts_per_task": wanted.attempts_per_task}
    limits = budget.model_dump(include={"usd", "attempts"}, exclude_none=True) if budget else {}
    secrets = _secrets(whole.secrets.required, wanted.secrets or {})
    return {
        **body,
        "secrets": secrets,
        "budget_config": limits if wanted.budget_config is None else wanted.budget_config,
    }


def _secrets(again: Sequence[str], section: Mapping[str, Any]) -> dict[str, Any]:
    required = section.get("required", [])
    # what isn't a list of names is told by the submission's own check
    return {**section, "required": list(dict.fromkeys([*again, *required])) if _all_texts(required) else required}


def _all_texts(names: object) -> bool:
    return isinstance(names, list) and all(isinstance(name, str) for name in names)  # pyright: ignore[reportUnknownVariableType]


async def _target(edges: Edges, workspace: str, submitted: RunSubmitted) -> benchmarks.Row:
    """The benchmark as it was then. One that is gone, or moved on, can be measured by all the same."""
    now = await benchmarks.find(edges.pool, workspace, submitted.benchmark) or {}
    return {
        "benchmark": submitted.benchmark,
        "key": submitted.benchmark_key,
        "name": submitted.benchmark_name,
        "status": "ready",
        "default_harness": now.get("default_harness"),
        "managed": now.get("managed", False),
        "judge": submitted.judge.model_dump() if submitted.judge else None,
        "sync_done": 0,
        "sync_total": 0,
        "error": None,
        "manifest": submitted.manifest,
    }


def _settings(submitted: RunSubmitted, chosen: Sequence[int], computed: Sequence[str]) -> tuple[str, ...]:
    """Those of the source's agents stay as they are, whatever key the vault has by now."""
    if len(submitted.settings) != len(submitted.config.agents):
        return tuple(computed)
    return (*(submitted.settings[agent] for agent in chosen), *computed[len(chosen) :])


def _to_supply(error: SecretsMissing, submitted: RunSubmitted) -> Invalid:
    """Values that came with the source were for it alone."""
    given = [name for name in error.missing if name in submitted.config.secrets.required]
    if not given:
        return error
    names = ", ".join(given)
    text = f"secrets.provided: supply {names} again, or store them; what came with the first run was for it alone"
    return SecretsMissing(error.missing, Invalid(text, issues=error.issues))


def _rekeyed(issues: Sequence[Issue], kept: int) -> list[Issue]:
    """At the place in the request of what the merged agents have after those of the source."""

    def place(found: re.Match[str]) -> str:
        agent = int(found[1])
        return f"add_agents[{agent - kept}]" if agent >= kept else found[0]

    return [issue._replace(key=_AGENT_KEY.sub(place, issue.key)) for issue in issues]
