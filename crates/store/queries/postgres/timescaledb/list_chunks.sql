/* iostall:timescaledb_list_chunks */
SELECT format('%I.%I', c.chunk_schema, c.chunk_name) AS name, c.range_end
FROM timescaledb_information.chunks AS c
WHERE c.hypertable_schema = 'iostall' AND c.hypertable_name = $1
ORDER BY c.range_end;
