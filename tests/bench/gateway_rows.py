"""Ended runs as the leaderboard service leaves them in its tables, made in the database itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from gateway_stage import WORKSPACE
from pydantic_core import to_json

from proctor.contracts.config import RunConfig
from proctor.contracts.entrant import agent_name
from proctor.contracts.manifest import ManifestTask
from proctor.leaderboard.scores import Score, entrant, run_metrics
from proctor.service.postgres import Connection

MODELS: Final = ("gpt-5", "claude-opus", "gemini-pro", "qwen-coder", "deepseek-v3", "kimi-k2", "glm-4", "grok-4")
CATEGORIES: Final = ("algorithms", "data", "debugging", "files", "networking", "security", "systems", "web")
PLACES: Final = 1_000_000
"""Places in the log that each run has to itself."""


@dataclass(frozen=True, slots=True)
class Shape:
    agents: int
    tasks: int
    attempts: int

    @property
    def results(self) -> int:
        return self.agents * self.tasks * self.attempts


async def add_runs(
    database: Connection, first: int, count: int, shape: Shape, *, history: bool = False, lock: str = "lock/none"
) -> list[str]:
    """Their ids; later ones are newer. `history`: the results with their eight versions from claimed to cleaned, else
    with the last one alone."""
    config = run_config(shape)
    numbers = [first, first + count - 1]
    await database.execute(_RUNS, WORKSPACE, *numbers, *_sizes(shape), PLACES, to_json(config).decode(), lock)
    metrics = to_json(_metrics(shape)).decode()
    for index, agent in enumerate(config.agents):
        name = agent_name(agent)
        about = (name.harness, name.model, name.entrant, metrics)
        await database.execute(_AGENTS, WORKSPACE, *numbers, index, *about, shape.tasks * shape.attempts, PLACES)
    models = [f"openai/{name}" for name in MODELS]
    await database.execute(
        _RESULTS, WORKSPACE, *numbers, *_sizes(shape), PLACES, models, list(CATEGORIES), 1 if history else 8
    )
    return [f"{number:032x}" for number in range(first, first + count)]


async def settle(database: Connection) -> None:
    """What autovacuum does in its time."""
    await database.execute("VACUUM (ANALYZE)")


def manifest_tasks(count: int) -> tuple[ManifestTask, ...]:
    return tuple(
        ManifestTask(
            name=f"terminal-bench/task-{index:04}",
            digest=f"sha256:{index:064x}",
            package=f"package/{index:064x}",
            environment_digest=f"sha256:{index:064x}",
            category=CATEGORIES[index % len(CATEGORIES)],
            difficulty="medium",
            tags=("bench", "shell"),
            agent_timeout=900.0,
        )
        for index in range(count)
    )


def run_config(shape: Shape) -> RunConfig:
    def agent(model: str) -> dict[str, Any]:
        chosen = {"type": "provider", "model": f"openai/{model}", "api_key_secret": "OPENAI_API_KEY"}
        return {"harness": "terminus-2", "model": chosen, "env": {"LANG": ""}}

    return RunConfig.model_validate(
        {
            "experiment": {"benchmark": "terminal-bench"},
            "agents": [agent(model) for model in MODELS[: shape.agents]],
            "execution": {"attempts_per_task": shape.attempts},
        }
    )


def _sizes(shape: Shape) -> Sequence[int]:
    return (shape.agents, shape.tasks, shape.attempts)


def _metrics(shape: Shape) -> dict[str, Any]:
    scores = [
        Score(task, CATEGORIES[task % len(CATEGORIES)], True, (task + number) % 3 == 0, None, 0.2, 90.0, 40_000, 3_000)
        for task in range(shape.tasks)
        for number in range(shape.attempts)
    ]
    one = entrant(
        "0",
        finished=0,
        version="sha256:bench",
        tasks=[f"{index:06}" for index in range(shape.tasks)],
        attempts_per_task=shape.attempts,
        scores=scores,
    )
    return {"rank": 1, "tied": False, **run_metrics(one, scores)}


_RUNS: Final = """
INSERT INTO leaderboard.runs (
    workspace, run, name, benchmark, benchmark_key, benchmark_name, version, manifest, pass_threshold, status, task_set,
    lock, agents, tasks, attempts_per_task, expected, passed, failed, errored, cancelled, in_progress, stop_requested,
    submitted_by, submitted_at, started_at, ended_at, cleaned_at, config, rates, submitted_position, position
)
SELECT $1, lpad(to_hex(n), 32, '0'), 'quiet-otter-' || n, 'bench' || n % 5, 'acme/bench-' || n % 5, 'Bench ' || n % 5,
       'sha256:bench', 'manifest/none', 1.0, CASE WHEN n % 50 = 0 THEN 'failed' ELSE 'finished' END, 'full',
       $9, $4::int, $5::int, $6::int, $4 * $5 * $6, 0, 0, 0, 0, 0, false, 'owner', moment, moment, moment, moment,
       $8::text::jsonb, '{"hour": 0, "cpu_hour": 0, "gibibyte_hour": 0}', n * $7::bigint + 1, (n + 1) * $7::bigint - 1
FROM generate_series($2::int, $3::int) n, LATERAL (SELECT timestamptz '2026-01-01' + n * interval '10 min') t (moment)
"""
_AGENTS: Final = """
INSERT INTO leaderboard.agents (
    workspace, run, agent, harness, model, entrant, status, expected, passed, failed, errored, cancelled, in_progress,
    tries_ended, tokens_reported, cost_reported, input_tokens, cached_tokens, output_tokens, cost_usd, sandbox_seconds,
    metrics, position, metrics_position
)
SELECT $1, lpad(to_hex(n), 32, '0'), $4, $5, $6, $7, 'finished', $9::int, $9, 0, 0, 0, 0, $9, $9, $9,
       $9 * 40000::bigint, 0, $9 * 3000, $9 * 0.2, $9 * 95.0, $8::text::jsonb,
       (n + 1) * $10::bigint - 1, (n + 1) * $10::bigint - 1
FROM generate_series($2::int, $3::int) n
"""
_RESULTS: Final = """
INSERT INTO leaderboard.results (
    workspace, run, attempt, identity, agent, task, number, task_name, category, difficulty, status, outcome, kind,
    fault, message, score, threshold, passed, counts, rewards, tries, redispatches, epoch, worker, host, backend, image,
    start_seconds, setup_seconds, agent_seconds, verifier_startup_seconds, verifier_transfer_seconds,
    verifier_run_seconds, verifier_parse_seconds, input_tokens, cached_tokens, output_tokens, cost_usd, agent_steps,
    agent_artifacts, verifier_artifacts, artifacts_cut, killed, sandbox_seconds, sandbox_use, started_at, finished_at,
    valid_from, valid_to
)
SELECT $1, run, attempt,
       agent || '-terminus-2-' || replace(($8::text[])[agent + 1], '/', '-') || '__terminal-bench-task-'
           || lpad(task::text, 4, '0') || '__' || number,
       agent, task, number, 'terminal-bench/task-' || lpad(task::text, 4, '0'), ($9::text[])[task % 8 + 1],
       ('{easy,medium,hard}'::text[])[task % 3 + 1],
       CASE WHEN graded THEN outcome
            ELSE ('{claimed,sandbox_ready,agent_running,awaiting_grade,grade_dispatched,grading}'::text[])[version] END,
       CASE WHEN graded THEN outcome END, CASE WHEN finished THEN kind END, CASE WHEN finished THEN fault END,
       CASE WHEN finished AND kind IS NOT NULL THEN 'the agent ended: ' || repeat('what it said last ', 10) END,
       CASE WHEN graded AND outcome <> 'errored' THEN (outcome = 'passed')::int END,
       CASE WHEN graded AND outcome <> 'errored' THEN 1 END,
       CASE WHEN graded AND outcome <> 'errored' THEN outcome = 'passed' END, outcome <> 'errored',
       CASE WHEN graded AND outcome <> 'errored' THEN '{"reward": "' || (outcome = 'passed')::int || '"}' END,
       0, 0, 1, 'runner-1-host', 'host', 'docker', 'sha256:' || repeat(lpad(to_hex(task), 4, '0'), 16),
       1.25, 4.5, CASE WHEN finished THEN 60 + dice * 3.7 END, CASE WHEN graded THEN 0.1 END,
       CASE WHEN graded THEN 0.2 END, CASE WHEN graded THEN 3.5 END, CASE WHEN graded THEN 0.01 END,
       CASE WHEN finished THEN 30000 + dice * 997 END, CASE WHEN finished THEN 20000 END,
       CASE WHEN finished THEN 2000 + dice * 31 END, CASE WHEN finished THEN 0.15 + dice * 0.011 END,
       CASE WHEN finished THEN 20 + dice END,
       CASE WHEN finished THEN ARRAY['artifact/' || run || '/' || attempt || '.1.agent.tar'] ELSE '{}' END,
       CASE WHEN graded THEN ARRAY['artifact/' || run || '/' || attempt || '.1.verifier.tar'] ELSE '{}' END,
       false, 0, CASE WHEN version = 8 THEN 75 + dice * 3.7 END,
       CASE WHEN version = 8 THEN '[{"phase":"agent","seconds":' || 60 + dice * 3.7
           || ',"cpu_seconds":31.5,"memory_peak_bytes":734003200},'
           || '{"phase":"grade","seconds":3.8,"cpu_seconds":2.25,"memory_peak_bytes":734003200}]' END,
       moment, CASE WHEN graded THEN moment + interval '2 min' END,
       place + version, CASE WHEN version < 8 THEN place + version + 1 END
FROM (
    SELECT lpad(to_hex(n), 32, '0') AS run, agent, task, number, agent || '-' || task || '-' || number AS attempt,
           version, version >= 4 AS finished, version >= 7 AS graded, (agent * 7 + task * 13 + number * 5) % 20 AS dice,
           n * $7::bigint + 8 * ((task * $6 + number - 1) * $4 + agent) + 1 AS place,
           timestamptz '2026-01-01' + n * interval '10 min' AS moment
    FROM generate_series($2::int, $3::int) n, generate_series(0, $4::int - 1) agent,
         generate_series(0, $5::int - 1) task, generate_series(1, $6::int) number,
         generate_series($10::int, 8) version
) placed, LATERAL (
    SELECT CASE WHEN dice < 9 THEN 'passed' WHEN dice < 18 THEN 'failed' ELSE 'errored' END AS outcome,
           CASE dice WHEN 16 THEN 'agent_timeout' WHEN 17 THEN 'agent_exit_nonzero'
                     WHEN 18 THEN 'provider_rate_limited' WHEN 19 THEN 'reward_missing' END AS kind,
           CASE dice WHEN 16 THEN 'agent' WHEN 17 THEN 'agent' WHEN 18 THEN 'provider' WHEN 19 THEN 'verifier' END
               AS fault
) t
ORDER BY run, task, number, agent, version
"""
