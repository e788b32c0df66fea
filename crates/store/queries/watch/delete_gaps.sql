/* iostall:delete_gaps */
DELETE FROM watch_gap WHERE source = :source AND at_utc_ns < :utc_ns;
