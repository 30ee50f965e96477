"""Secrets that a submission and its tasks name, held against those that are stored."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from proctor.contracts.config import RunConfig
from proctor.contracts.manifest import Manifest, ManifestTask
from proctor.gateway.submission.body import Submission
from proctor.service.errors import Issue

OF_WORKSPACE: Final = frozenset({"workspace", "user_override"})
"""Where a name's value may come from when the workspace has a secret of that name."""


def referenced(submission: Submission, manifest: Manifest | None) -> frozenset[str]:
    """Names that may be those of stored secrets: what the submission names, and what the benchmark's tasks read."""
    config = submission.config
    named = (config.agent_secrets(index) for index in range(len(config.agents)))
    needed = (task.needed_variables for task in manifest.tasks) if manifest else ()
    return frozenset(chain(config.verifier_secrets(), config.secrets.required, *named, *needed))


def unstored(submission: Submission, config: RunConfig, stored: Mapping[str, str]) -> Iterator[tuple[str, Issue]]:
    """The name and an issue for each that has no value; one that the run requires is told there alone."""
    if not submission.reads("secrets"):
        return
    required = submission.secrets.required
    places: list[tuple[str, str | None]] = []
    for index, agent in enumerate(config.agents):
        places.append((f"agents[{index}].model.api_key_secret", getattr(agent.model, "api_key_secret", None)))
        places.append((f"agents[{index}].harness_api_key_secret", agent.harness_api_key_secret))
    places.append(("execution.judge_api_key_secret", config.execution.judge_api_key_secret))
    places += [("verifier.required", name) for name in config.verifier.required]
    places += [("secrets.required", name) for name in required]
    for key, name in places:
        if name is None or name in stored or name in submission.secrets.provided:
            continue
        if key == "secrets.required" or name not in required:
            hint = "provide it with the run, or set it" if name in required else "set it"
            yield name, Issue(key, f"the secret {name} isn't stored: {hint} with `proctor secret set {name}`")


def task_variables(
    tasks: Sequence[ManifestTask], config: RunConfig, stored: Mapping[str, str], judged: Collection[str | None]
) -> Iterator[str]:
    """What selected tasks read that some agent's run doesn't name: the workspace's secret, or nothing, and then only
    those tasks will fail. `judged`: what the verifier gets for the model that judges."""
    named = {*config.secrets.required, *config.verifier_secrets(), *judged}
    have = [{*config.values(index), *config.agent_secrets(index), *named} for index in range(len(config.agents))]
    read = Counter(name for task in tasks for name in task.needed_variables if any(name not in names for names in have))
    for name, count in read.items():
        if stored.get(name) in OF_WORKSPACE:
            yield f"secrets: {count} of the selected tasks read the workspace's secret {name}"
        else:
            lacking = f"{count} of the selected tasks need {name}, which the run doesn't set"
            yield f"env: {lacking}; they will end in an error"
