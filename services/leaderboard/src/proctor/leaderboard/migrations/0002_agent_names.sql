-- Agents that were recorded before they could be named have none. Boards follow from the entries and are made again.

ALTER TABLE agents ADD COLUMN name text;

CREATE OR REPLACE VIEW api_agents AS
SELECT workspace, run, agent, harness, model, endpoint, entrant, status, expected, passed, failed, errored, cancelled,
       in_progress, tries_ended, tokens_reported, cost_reported, input_tokens, cached_tokens, output_tokens, cost_usd,
       sandbox_seconds, metrics, metrics_position, position, name
FROM agents;

UPDATE runs SET config = jsonb_set(config, '{agents}', (
    SELECT jsonb_agg('{"name": null}' || agent ORDER BY place)
    FROM jsonb_array_elements(config -> 'agents') WITH ORDINALITY AS listed (agent, place)
));

UPDATE entries SET row = '{"name": null}' || row;

DELETE FROM standings;
