/* iostall:test_lake_stalls_there */
SELECT series_id, epoch(hour)::bigint, sum(operations) FROM stalls WHERE op = 'read' GROUP BY series_id, hour ORDER BY series_id, hour;
