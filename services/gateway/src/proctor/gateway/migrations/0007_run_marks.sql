-- What people write on runs; it is no part of a run's log.
CREATE TABLE run_marks (
    workspace text NOT NULL,
    run text NOT NULL,
    note text,
    tags text[] NOT NULL DEFAULT '{}',
    archived_at timestamptz,
    archived_by text,
    PRIMARY KEY (workspace, run)
);
