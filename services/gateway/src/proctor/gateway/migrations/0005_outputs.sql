-- What is in a tar of artifacts, once it was read: [[path, offset, size], ...]. Such an object never changes.
CREATE TABLE artifact_files (
    object text PRIMARY KEY,
    files jsonb NOT NULL
);

-- Tables and logs of runs as they were at a place of the log, kept as objects for those who are downloading them.
CREATE TABLE snapshots (
    workspace text NOT NULL,
    run text NOT NULL,
    position bigint NOT NULL,
    figures bigint NOT NULL,
    kind text NOT NULL,
    object text NOT NULL UNIQUE,
    size bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace, run, position, figures, kind)
);
