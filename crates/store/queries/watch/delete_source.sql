/* iostall:delete_source */
/* Its samples, roll-ups, gaps and warnings go with it (ON DELETE CASCADE). */
DELETE FROM watch_source WHERE number = :source;
