/* iostall:find_runs_forgotten */
SELECT runs_forgotten_utc_ns FROM iostall.repository;
