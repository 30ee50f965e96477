"""What a run says of the model that judges, against the benchmark's own rule."""

from collections.abc import Iterator

from proctor.contracts.judge import JudgeRule
from proctor.gateway.submission.body import Submission
from proctor.service.errors import Issue

_KEY, _MODEL = "execution.judge_api_key_secret", "execution.judge_model"


def judging(submission: Submission, rule: JudgeRule | None, *, managed: bool) -> Iterator[Issue]:
    execution = submission.config.execution
    if managed and submission.config.verifier.required:
        yield Issue("verifier.required", "a managed benchmark's verifier takes no secrets of yours; leave it out")
    if rule is None:
        for key, given in ((_MODEL, execution.judge_model), (_KEY, execution.judge_api_key_secret)):
            if given is not None:
                yield Issue(key, "no model judges this benchmark; leave it out")
        return
    if execution.judge_api_key_secret is None and submission.reads("execution", "judge_api_key_secret"):
        yield Issue(_KEY, "is required: a model judges this benchmark; name the secret that holds its key")
    if rule.kind == "key" and execution.judge_model is not None:
        yield Issue(_MODEL, "the benchmark pins the model that judges; leave it out")
    unnamed = rule.kind == "model" and not (execution.judge_model or rule.default_model)
    if unnamed and submission.reads("execution", "judge_model"):
        yield Issue(_MODEL, "is required: the benchmark has no default for the model that judges")
