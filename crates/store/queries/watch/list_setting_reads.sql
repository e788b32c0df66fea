/* iostall:list_setting_reads */
-- Of this store's own sources.
SELECT watch_source.id AS id, first_utc_ns, last_utc_ns, tool_version
  FROM watch_setting_read
  JOIN watch_source ON watch_source.number = watch_setting_read.source
 WHERE watch_source.store = :store
 ORDER BY watch_source.number;
