/* iostall:backup_patience */
-- The checkpoint at the beginning may take minutes, and hours pass until the end.
SELECT set_config('statement_timeout', '0', false), set_config('idle_session_timeout', '0', false)
