-- Judges, pause, budgets, results taken over from another run, and what sandboxes used. Every row follows from the log: the
-- service reads it again from its beginning, so that old rows and new ones say the same things.

TRUNCATE position, quarantine, benchmarks, runs, agents, results, log, entries, standings;

ALTER TABLE benchmarks ADD COLUMN judge jsonb;

ALTER TABLE runs
    ADD COLUMN paused           text,
    ADD COLUMN budget           jsonb,
    ADD COLUMN budget_reached   jsonb,
    ADD COLUMN rates            jsonb NOT NULL,
    ADD COLUMN rerun_of         text,
    ADD COLUMN reused_from      text,
    ADD COLUMN reused           integer NOT NULL DEFAULT 0,
    ADD COLUMN dispatches       integer NOT NULL DEFAULT 0;

ALTER TABLE agents
    ADD COLUMN reused            integer NOT NULL DEFAULT 0,
    ADD COLUMN cpu_seconds       double precision,
    ADD COLUMN memory_peak_bytes bigint,
    ADD COLUMN sandbox_cost_usd  double precision;

ALTER TABLE results
    ADD COLUMN sandbox_use    text,
    ADD COLUMN reused_run     text,
    ADD COLUMN reused_attempt text;

CREATE OR REPLACE VIEW api_benchmarks AS
SELECT workspace, benchmark, key, name, description, managed, default_harness, pass_threshold, reward_key, source,
       status, status = 'removed' AS removed, sync_total, sync_done, error, version, manifest, task_count,
       unavailable_count, category_count, added_by, added_at, updated_at, position, judge
FROM benchmarks;

CREATE OR REPLACE VIEW api_runs AS
SELECT r.workspace, r.run, r.name, r.benchmark, r.benchmark_key, r.benchmark_name, r.version, r.manifest,
       r.pass_threshold, r.reward_key, r.status, r.task_set, r.lock, r.agents, r.tasks, r.attempts_per_task,
       r.expected, r.passed, r.failed, r.errored, r.cancelled, r.in_progress, r.stop_requested, r.stop_reason,
       r.waiting, r.failure_kind, r.failure_message, r.submitted_by, r.submitted_at, r.started_at, r.ended_at,
       r.cleaned_at, r.config, r.submitted_position, r.position,
       t.input_tokens, t.cached_tokens, t.output_tokens, t.cost_usd, t.sandbox_seconds, t.best_pass_at_1,
       EXISTS (
           SELECT FROM quarantine q WHERE q.workspace = r.workspace AND q.aggregate = 'run' AND q.id = r.run
       ) AS quarantined,
       r.paused, r.budget, r.budget_reached, r.rates, r.rerun_of, r.reused_from, r.reused, r.dispatches,
       t.cpu_seconds, t.memory_peak_bytes, t.sandbox_cost_usd
FROM runs r
LEFT JOIN LATERAL (
    SELECT sum(a.input_tokens)::bigint AS input_tokens, sum(a.cached_tokens)::bigint AS cached_tokens,
           sum(a.output_tokens)::bigint AS output_tokens, sum(a.cost_usd) AS cost_usd,
           sum(a.sandbox_seconds) AS sandbox_seconds,
           max((a.metrics #>> '{pass_at_1,value}')::double precision) AS best_pass_at_1,
           sum(a.cpu_seconds) AS cpu_seconds, max(a.memory_peak_bytes) AS memory_peak_bytes,
           sum(a.sandbox_cost_usd) AS sandbox_cost_usd
    FROM agents a WHERE a.workspace = r.workspace AND a.run = r.run
) t ON true;

CREATE OR REPLACE VIEW api_agents AS
SELECT workspace, run, agent, harness, model, endpoint, entrant, status, expected, passed, failed, errored, cancelled,
       in_progress, tries_ended, tokens_reported, cost_reported, input_tokens, cached_tokens, output_tokens, cost_usd,
       sandbox_seconds, metrics, metrics_position, position, name, reused, cpu_seconds, memory_peak_bytes,
       sandbox_cost_usd
FROM agents;

CREATE OR REPLACE VIEW api_results AS
SELECT workspace, run, attempt, identity, agent, task, number, task_name, category, difficulty, status, outcome, kind,
       fault, message, score, threshold, passed, counts, rewards::jsonb AS rewards,
       step_rewards::jsonb AS step_rewards, tries, redispatches, epoch, worker,
       host, backend, image, note, start_seconds, setup_seconds, agent_seconds, verifier_startup_seconds,
       verifier_transfer_seconds, verifier_run_seconds, verifier_parse_seconds, input_tokens, cached_tokens,
       output_tokens, cost_usd, agent_steps, agent_artifacts, verifier_artifacts, artifacts_cut, killed,
       sandbox_seconds, started_at, finished_at, valid_from, valid_to, sandbox_use::jsonb AS sandbox_use, reused_run,
       reused_attempt
FROM results;
