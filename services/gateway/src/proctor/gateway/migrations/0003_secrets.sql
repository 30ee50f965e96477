CREATE TABLE secrets (
    id text PRIMARY KEY,
    workspace text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    scope text NOT NULL CHECK (scope IN ('workspace', 'user')),
    holder text NOT NULL CHECK ((scope = 'user') = (holder <> '')),
    -- whose it is goes with them when they leave
    member text GENERATED ALWAYS AS (nullif(holder, '')) STORED,
    name text NOT NULL,
    version int NOT NULL,
    sealed bytea NOT NULL,
    key_id text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    creator text NOT NULL,
    updater text NOT NULL,
    UNIQUE (workspace, scope, holder, name),
    FOREIGN KEY (workspace, member) REFERENCES members ON DELETE CASCADE
);

-- Values that a run was given for itself, until it is cleaned.
CREATE TABLE run_secrets (
    workspace text NOT NULL,
    run text NOT NULL,
    sealed bytea NOT NULL,
    key_id text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace, run)
);

-- Rows without a key id hold what goes into run_secrets as well. `kept`: the run is known to have been submitted.
ALTER TABLE run_values
    ADD COLUMN key_id text,
    ADD COLUMN kept boolean NOT NULL DEFAULT false;
