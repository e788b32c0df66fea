/* iostall:databases */
-- Blocks of each database, and the time its backends waited for data files. Database 0 holds the objects that
-- all databases share.
SELECT coalesce(datname, '(shared)')                  AS database,
       coalesce(datname, '(shared)')                  AS name,
       datid::text                                    AS identity,
       blks_read                                      AS reads,
       blks_read * b.size                             AS read_bytes,
       CASE WHEN t.io THEN round(blk_read_time * 1000)::bigint END  AS read_stall,
       CASE WHEN t.io THEN round(blk_write_time * 1000)::bigint END AS write_stall,
       blks_hit                                       AS hits,
       temp_files                                     AS temp_files,
       temp_bytes                                     AS temp_bytes,
       round(extract(epoch FROM stats_reset) * 1000000)::bigint     AS statistics_reset
FROM pg_stat_database,
     (SELECT current_setting('track_io_timing')::bool) AS t(io),
     (SELECT current_setting('block_size')::bigint) AS b(size)
