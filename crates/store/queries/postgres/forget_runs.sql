/* iostall:forget_runs */
-- A server that has them still would send them again: the repository remembers up to when it has deleted.
WITH forgotten AS (
    UPDATE iostall.repository SET runs_forgotten_utc_ns = greatest(runs_forgotten_utc_ns, $1) RETURNING runs_forgotten_utc_ns
)
DELETE FROM iostall.run AS r USING forgotten AS f WHERE r.ended_utc_ns < f.runs_forgotten_utc_ns;
