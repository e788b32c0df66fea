/* iostall:timescaledb_compress */
-- Values of one series lie together: most differ little from those before. After a week hardly a server is late with its samples.
ALTER TABLE iostall.sample SET (timescaledb.compress, timescaledb.compress_segmentby = 'source', timescaledb.compress_orderby = 'number');
SELECT {schema}.add_compression_policy('iostall.sample', compress_after => INTERVAL '7 days');
ALTER TABLE iostall.sample_row SET (timescaledb.compress, timescaledb.compress_segmentby = 'source, series', timescaledb.compress_orderby = 'number');
SELECT {schema}.add_compression_policy('iostall.sample_row', compress_after => INTERVAL '7 days');
