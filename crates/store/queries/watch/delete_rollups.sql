/* iostall:delete_rollups */
DELETE FROM watch_rollup WHERE tier = :tier AND beginning_s >= :from AND beginning_s < :to
  AND series IN (SELECT number FROM watch_series WHERE source = :source);
