-- Neither a result by its name, nor those of a task or an outcome, nor the count of each error kind reads all of a run.

DROP INDEX results_now;
CREATE INDEX results_now ON results (workspace, run, agent, task, number, outcome, task_name) WHERE valid_to IS NULL;
CREATE INDEX results_by_identity ON results (workspace, run, identity) WHERE valid_to IS NULL;
CREATE INDEX results_by_kind ON results (workspace, run, agent, kind, task, number) INCLUDE (outcome, fault)
    WHERE valid_to IS NULL AND kind IS NOT NULL;
