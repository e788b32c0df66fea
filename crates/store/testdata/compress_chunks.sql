/* iostall:test_compress_chunks */
SELECT compress_chunk(format('%I.%I', chunk_schema, chunk_name)::regclass)
FROM timescaledb_information.chunks
WHERE hypertable_schema = 'iostall' AND hypertable_name IN ('sample', 'sample_row')
ORDER BY chunk_name;
