"""What a run's configuration came to, told in words: pins, resolved values, where its secrets are from."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from proctor.contracts.config import RunConfig
from proctor.contracts.events import RunSubmitted
from proctor.contracts.events.run import Budget
from proctor.contracts.manifest import RunLock
from proctor.contracts.metering import SandboxRates

MANY: Final = 20


@dataclass(frozen=True, slots=True)
class Resolved:
    """`lock` is None before the plan; `scopes` are those of the submitter's stored secrets as they are now; `source`
    is the name of the run that this one is a rerun of."""

    submitted: RunSubmitted
    since: datetime
    lock_object: str | None
    lock: RunLock | None
    scopes: Mapping[str, str]
    images: Sequence[str]
    source: str | None


def secret_names(config: RunConfig) -> tuple[str, ...]:
    """Every secret that the configuration names."""
    agents = (name for agent in range(len(config.agents)) for name in config.agent_secrets(agent))
    return tuple(dict.fromkeys([*agents, *config.verifier_secrets()]))


def comments(found: Resolved) -> Iterator[str]:
    """A line each."""
    submitted = found.submitted
    yield f"Configuration of the run {submitted.name} ({submitted.run}), submitted {found.since.isoformat()}"
    if submitted.rerun_of is not None:
        taken = "; results that count are taken over from it" if submitted.reuse else ""
        yield f"rerun of {found.source or submitted.rerun_of} ({submitted.rerun_of}){taken}"
    yield f"benchmark: {submitted.benchmark_name} ({submitted.benchmark_key}), version {submitted.version}"
    yield f"task list: {submitted.manifest}"
    if found.lock is not None:
        yield f"tasks: {len(found.lock.tasks)}, {found.lock.task_set}; lock: {found.lock_object}"
        yield f"Proctor {found.lock.proctor_version}, whose version its own harnesses have"
    yield f"pass threshold: {submitted.pass_threshold}; reward key: {submitted.reward_key or 'reward, or the only one'}"
    yield from _images(found.images)
    for name in secret_names(submitted.config):
        yield f"secret {name}: {_scope(name, found)}"
    yield from _budget(submitted.budget)
    yield from _rates(submitted.rates)


def _images(images: Sequence[str]) -> Iterator[str]:
    yield from (f"image: {image}" for image in images[:MANY])
    if len(images) > MANY:
        yield f"and {len(images) - MANY} more images"


def _scope(name: str, found: Resolved) -> str:
    if name in found.scopes:
        return found.scopes[name]
    given = name in found.submitted.config.secrets.required
    return "run (given with the run, and not stored)" if given else "not stored any more"


def _budget(budget: Budget | None) -> Iterator[str]:
    limits = budget.model_dump(exclude_none=True) if budget else {}
    if limits:
        yield "budget: " + ", ".join(f"{name} {limit:g}" for name, limit in limits.items())


def _rates(rates: SandboxRates) -> Iterator[str]:
    if any((priced := rates.model_dump()).values()):
        yield "sandbox prices in dollars: " + ", ".join(f"{name} {price:g}" for name, price in priced.items())
