-- A sign-in that a device waits for. The row goes when its token was handed out.
CREATE TABLE device_codes (
    hash bytea PRIMARY KEY,
    user_code text NOT NULL UNIQUE,
    device_name text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    interval_seconds integer NOT NULL,
    polled_at timestamptz,
    approved boolean,
    approved_by text REFERENCES users ON DELETE CASCADE,
    workspace text
);

CREATE TABLE quickstarts (
    workspace text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    member text NOT NULL REFERENCES users ON DELETE CASCADE,
    intent text NOT NULL,
    completed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace, member)
);
