"""How a benchmark's verifier uses a language model, and what a run gives it for that."""

from typing import Literal, Self

from pydantic import Field, model_validator

from proctor.contracts.config import ENV_NAME, Execution
from proctor.contracts.work import Frozen, JudgeWork


class JudgeRule(Frozen):
    """`key`: a run gives an API key and the benchmark pins the model; `model`: it gives both. The verifier reads them
    from these variables of its environment."""

    kind: Literal["key", "model"]
    key_variable: str = Field(pattern=ENV_NAME, max_length=255)
    model_variable: str | None = Field(default=None, pattern=ENV_NAME, max_length=255)
    default_model: str | None = Field(default=None, min_length=1, max_length=255)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.kind == "model" and self.model_variable is None:
            raise ValueError("a judge whose model is given needs a model_variable")
        if self.kind == "key" and (self.model_variable, self.default_model) != (None, None):
            raise ValueError("a judge whose model is pinned has no model_variable and no default_model")
        return self


def judge_work(rule: JudgeRule | None, execution: Execution) -> JudgeWork | None:
    """None where no model judges, or the run gave no key."""
    if rule is None or execution.judge_api_key_secret is None:
        return None
    return JudgeWork(
        key_variable=rule.key_variable,
        key_secret=execution.judge_api_key_secret,
        model_variable=rule.model_variable,
        model=judge_model(rule, execution),
    )


def judge_model(rule: JudgeRule | None, execution: Execution) -> str | None:
    """The run's, else the benchmark's default."""
    return None if rule is None else execution.judge_model or rule.default_model
