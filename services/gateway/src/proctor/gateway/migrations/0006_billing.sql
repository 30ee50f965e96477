-- Null is no limit.
CREATE TABLE budgets (
    workspace text PRIMARY KEY REFERENCES workspaces ON DELETE CASCADE,
    run_usd double precision CHECK (run_usd > 0),
    run_attempts integer CHECK (run_attempts > 0),
    month_usd double precision CHECK (month_usd > 0),
    month_attempts integer CHECK (month_attempts > 0),
    changed_by text NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now()
);
