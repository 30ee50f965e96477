CREATE TABLE workspaces (
    id text PRIMARY KEY,
    name text NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE users (
    id text PRIMARY KEY,
    name text NOT NULL,
    email text NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE members (
    workspace text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    member text NOT NULL REFERENCES users ON DELETE CASCADE,
    role text NOT NULL CHECK (role IN ('viewer', 'member', 'admin', 'owner')),
    added_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace, member)
);

CREATE TABLE tokens (
    hash bytea PRIMARY KEY,
    id text NOT NULL UNIQUE,
    holder text NOT NULL REFERENCES users ON DELETE CASCADE,
    name text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz
);

-- A name and an idempotency key are taken here before the run is appended.
CREATE TABLE runs (
    workspace text NOT NULL,
    run text NOT NULL,
    name text NOT NULL,
    request bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace, run),
    UNIQUE (workspace, name)
);

CREATE TABLE run_values (
    workspace text NOT NULL,
    run text NOT NULL,
    sealed bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace, run)
);

CREATE TABLE benchmark_keys (
    workspace text NOT NULL,
    key text NOT NULL,
    benchmark text NOT NULL UNIQUE,
    PRIMARY KEY (workspace, key)
);
