"""Results of a run, and the files that each left."""

from typing import Literal

from proctor.contracts.manifest import Difficulty
from proctor.contracts.metering import PhaseUse
from proctor.contracts.outcomes import Fault, Outcome
from proctor.contracts.states import AttemptStatus
from proctor.gateway.answers.base import Answer, Moment, Page


class Result(Answer):
    """Figures are of the try that counts, those of the sandbox of all. `counts`: it enters the scores."""

    attempt: str
    identity: str
    agent: int
    task: int
    number: int
    task_name: str
    category: str | None
    difficulty: Difficulty | None
    status: AttemptStatus
    outcome: Outcome | None
    kind: str | None
    fault: Fault | None
    message: str | None
    score: str | None
    threshold: str | None
    passed: bool | None
    counts: bool
    rewards: dict[str, str] | None
    step_rewards: list[dict[str, str]] | None
    tries: int
    redispatches: int
    epoch: int
    worker: str | None
    host: str | None
    backend: str | None
    image: str | None
    note: str | None
    start_seconds: float | None
    setup_seconds: float | None
    agent_seconds: float | None
    verifier_startup_seconds: float | None
    verifier_transfer_seconds: float | None
    verifier_run_seconds: float | None
    verifier_parse_seconds: float | None
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    agent_steps: int | None
    agent_artifacts: list[str]
    verifier_artifacts: list[str]
    artifacts_cut: bool
    killed: int
    sandbox_seconds: float | None
    sandbox_use: list[PhaseUse] | None
    reused_run: str | None
    reused_attempt: str | None
    started_at: Moment | None
    finished_at: Moment | None


class Results(Page[Result]): ...


class ArtifactFile(Answer):
    phase: str
    path: str
    size: int


class Artifacts(Answer):
    """`cut`: files were left out for size."""

    items: list[ArtifactFile]
    cut: bool


class OutputFile(Answer):
    """`url` needs no token and expires; `etag` is that of the file at it."""

    path: str
    type: Literal["summary", "results", "artifacts", "logs", "lock"]
    size: int
    etag: str
    url: str


class OutputTotals(Answer):
    files: int
    bytes: int


class Outputs(Answer):
    """`snapshot` keeps a run that goes on as it is now; addresses expire after `expires_in` seconds."""

    snapshot: str
    items: list[OutputFile]
    totals: OutputTotals
    expires_in: int
