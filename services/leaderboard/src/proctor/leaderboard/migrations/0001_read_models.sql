-- Unqualified names: the same file makes the live schema and the one a rebuild fills.
-- Every time is the bus's clock at an event, so that a rebuilt row equals the live one.

CREATE TABLE position (
    name     text PRIMARY KEY,
    sequence bigint NOT NULL
);

CREATE TABLE quarantine (
    workspace text NOT NULL,
    aggregate text NOT NULL,
    id        text NOT NULL,
    sequence  bigint NOT NULL,
    error     text NOT NULL,
    since     timestamptz NOT NULL,
    PRIMARY KEY (workspace, aggregate, id)
);

CREATE TABLE benchmarks (
    workspace         text NOT NULL,
    benchmark         text NOT NULL,
    key               text NOT NULL,
    name              text NOT NULL,
    description       text,
    managed           boolean NOT NULL,
    default_harness   text,
    pass_threshold    numeric NOT NULL,
    reward_key        text,
    source            jsonb NOT NULL,
    status            text NOT NULL,
    sync_total        integer NOT NULL,
    sync_done         integer NOT NULL,
    error             text,
    version           text,
    manifest          text,
    task_count        integer,
    unavailable_count integer,
    category_count    integer,
    added_by          text NOT NULL,
    added_at          timestamptz NOT NULL,
    updated_at        timestamptz NOT NULL,
    position          bigint NOT NULL,
    PRIMARY KEY (workspace, benchmark)
);

CREATE TABLE runs (
    workspace         text NOT NULL,
    run               text NOT NULL,
    name              text NOT NULL,
    benchmark         text NOT NULL,
    benchmark_key     text NOT NULL,
    benchmark_name    text NOT NULL,
    version           text NOT NULL,
    manifest          text NOT NULL,
    pass_threshold    numeric NOT NULL,
    reward_key        text,
    status            text NOT NULL,
    task_set          text,
    lock              text,
    agents            integer NOT NULL,
    tasks             integer,
    attempts_per_task integer NOT NULL,
    expected          integer NOT NULL,
    passed            integer NOT NULL,
    failed            integer NOT NULL,
    errored           integer NOT NULL,
    cancelled         integer NOT NULL,
    in_progress       integer NOT NULL,
    stop_requested    boolean NOT NULL,
    stop_reason       text,
    waiting           text,
    failure_kind      text,
    failure_message   text,
    submitted_by      text NOT NULL,
    submitted_at      timestamptz NOT NULL,
    started_at        timestamptz,
    ended_at          timestamptz,
    cleaned_at        timestamptz,
    config            jsonb NOT NULL,
    submitted_position bigint NOT NULL,
    position          bigint NOT NULL,
    PRIMARY KEY (workspace, run)
);
CREATE INDEX runs_newest ON runs (workspace, submitted_position DESC);
CREATE INDEX runs_of_benchmark ON runs (workspace, benchmark, submitted_position DESC);
CREATE INDEX runs_by_name ON runs (workspace, name);

CREATE TABLE agents (
    workspace        text NOT NULL,
    run              text NOT NULL,
    agent            integer NOT NULL,
    harness          text NOT NULL,
    model            text,
    endpoint         text,
    entrant          text NOT NULL,
    status           text NOT NULL,
    expected         integer NOT NULL,
    passed           integer NOT NULL,
    failed           integer NOT NULL,
    errored          integer NOT NULL,
    cancelled        integer NOT NULL,
    in_progress      integer NOT NULL,
    tries_ended      integer NOT NULL,
    tokens_reported  integer NOT NULL,
    cost_reported    integer NOT NULL,
    input_tokens     bigint,
    cached_tokens    bigint,
    output_tokens    bigint,
    cost_usd         double precision,
    sandbox_seconds  double precision,
    position         bigint NOT NULL,
    metrics          jsonb,
    metrics_position bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (workspace, run, agent)
);
CREATE INDEX agents_stale ON agents (workspace, run) WHERE metrics_position < position;

-- One row per version of an attempt's result: it holds for the positions valid_from <= p < valid_to.
CREATE TABLE results (
    workspace                  text NOT NULL,
    run                        text NOT NULL,
    attempt                    text NOT NULL,
    identity                   text NOT NULL,
    agent                      integer NOT NULL,
    task                       integer NOT NULL,
    number                     integer NOT NULL,
    task_name                  text NOT NULL,
    category                   text,
    difficulty                 text,
    status                     text NOT NULL,
    outcome                    text,
    kind                       text,
    fault                      text,
    message                    text,
    score                      numeric,
    threshold                  numeric,
    passed                     boolean,
    counts                     boolean NOT NULL,
    rewards                    text,
    step_rewards               text,
    tries                      integer NOT NULL,
    redispatches               integer NOT NULL,
    epoch                      integer NOT NULL,
    worker                     text,
    host                       text,
    backend                    text,
    image                      text,
    note                       text,
    start_seconds              double precision,
    setup_seconds              double precision,
    agent_seconds              double precision,
    verifier_startup_seconds   double precision,
    verifier_transfer_seconds  double precision,
    verifier_run_seconds       double precision,
    verifier_parse_seconds     double precision,
    input_tokens               bigint,
    cached_tokens              bigint,
    output_tokens              bigint,
    cost_usd                   double precision,
    agent_steps                integer,
    agent_artifacts            text[] NOT NULL,
    verifier_artifacts         text[] NOT NULL,
    artifacts_cut              boolean NOT NULL,
    killed                     integer NOT NULL,
    sandbox_seconds            double precision,
    started_at                 timestamptz,
    finished_at                timestamptz,
    valid_from                 bigint NOT NULL,
    valid_to                   bigint,
    PRIMARY KEY (workspace, run, attempt, valid_from)
);
CREATE INDEX results_now ON results (workspace, run, agent, task, number) WHERE valid_to IS NULL;

CREATE TABLE log (
    workspace text NOT NULL,
    run       text NOT NULL,
    sequence  bigint NOT NULL,
    type      text NOT NULL,
    level     text NOT NULL,
    step      text NOT NULL,
    agent     integer,
    task      integer,
    attempt   text,
    PRIMARY KEY (workspace, run, sequence)
);

-- What each agent of an ended run brings to its benchmark's board; scores holds one place per task.
CREATE TABLE entries (
    workspace text NOT NULL,
    benchmark text NOT NULL,
    run       text NOT NULL,
    agent     integer NOT NULL,
    entrant   text NOT NULL,
    eligible  boolean NOT NULL,
    rules     text[] NOT NULL,
    row       jsonb NOT NULL,
    scores    jsonb,
    position  bigint NOT NULL,
    PRIMARY KEY (workspace, benchmark, position, run, agent)
);

CREATE TABLE standings (
    workspace text NOT NULL,
    benchmark text NOT NULL,
    position  bigint NOT NULL,
    board     jsonb NOT NULL,
    PRIMARY KEY (workspace, benchmark, position)
);

CREATE VIEW api_position AS SELECT name, sequence FROM position;

CREATE VIEW api_quarantine AS SELECT workspace, aggregate, id, sequence, error, since FROM quarantine;

CREATE VIEW api_benchmarks AS
SELECT workspace, benchmark, key, name, description, managed, default_harness, pass_threshold, reward_key, source,
       status, status = 'removed' AS removed, sync_total, sync_done, error, version, manifest, task_count,
       unavailable_count, category_count, added_by, added_at, updated_at, position
FROM benchmarks;

CREATE VIEW api_runs AS
SELECT r.workspace, r.run, r.name, r.benchmark, r.benchmark_key, r.benchmark_name, r.version, r.manifest,
       r.pass_threshold, r.reward_key, r.status, r.task_set, r.lock, r.agents, r.tasks, r.attempts_per_task,
       r.expected, r.passed, r.failed, r.errored, r.cancelled, r.in_progress, r.stop_requested, r.stop_reason,
       r.waiting, r.failure_kind, r.failure_message, r.submitted_by, r.submitted_at, r.started_at, r.ended_at,
       r.cleaned_at, r.config, r.submitted_position, r.position,
       t.input_tokens, t.cached_tokens, t.output_tokens, t.cost_usd, t.sandbox_seconds, t.best_pass_at_1,
       EXISTS (
           SELECT FROM quarantine q WHERE q.workspace = r.workspace AND q.aggregate = 'run' AND q.id = r.run
       ) AS quarantined
FROM runs r
LEFT JOIN LATERAL (
    SELECT sum(a.input_tokens)::bigint AS input_tokens, sum(a.cached_tokens)::bigint AS cached_tokens,
           sum(a.output_tokens)::bigint AS output_tokens, sum(a.cost_usd) AS cost_usd,
           sum(a.sandbox_seconds) AS sandbox_seconds,
           max((a.metrics #>> '{pass_at_1,value}')::double precision) AS best_pass_at_1
    FROM agents a WHERE a.workspace = r.workspace AND a.run = r.run
) t ON true;

CREATE VIEW api_agents AS
SELECT workspace, run, agent, harness, model, endpoint, entrant, status, expected, passed, failed, errored, cancelled,
       in_progress, tries_ended, tokens_reported, cost_reported, input_tokens, cached_tokens, output_tokens, cost_usd,
       sandbox_seconds, metrics, metrics_position, position
FROM agents;

CREATE VIEW api_results AS
SELECT workspace, run, attempt, identity, agent, task, number, task_name, category, difficulty, status, outcome, kind,
       fault, message, score, threshold, passed, counts, rewards::jsonb AS rewards,
       step_rewards::jsonb AS step_rewards, tries, redispatches, epoch, worker,
       host, backend, image, note, start_seconds, setup_seconds, agent_seconds, verifier_startup_seconds,
       verifier_transfer_seconds, verifier_run_seconds, verifier_parse_seconds, input_tokens, cached_tokens,
       output_tokens, cost_usd, agent_steps, agent_artifacts, verifier_artifacts, artifacts_cut, killed,
       sandbox_seconds, started_at, finished_at, valid_from, valid_to
FROM results;

CREATE VIEW api_log AS SELECT workspace, run, sequence, type, level, step, agent, task, attempt FROM log;

CREATE VIEW api_entries AS
SELECT workspace, benchmark, run, agent, entrant, eligible, rules, row, position FROM entries;

CREATE VIEW api_standings AS
SELECT workspace, benchmark, position, board, position AS valid_from,
       lead(position) OVER (PARTITION BY workspace, benchmark ORDER BY position) AS valid_to
FROM standings;
