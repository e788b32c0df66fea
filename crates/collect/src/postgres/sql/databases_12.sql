/* iostall:databases */
-- Blocks of each database, and the time its backends waited for data files. Database 0 holds the objects that
-- all databases share. Names are bytes: a database may have been named in another encoding than this one's.
SELECT b.name                                         AS database,
       b.name                                         AS name,
       datid::text                                    AS identity,
       blks_read                                      AS reads,
       blks_read * c.block_size                             AS read_bytes,
       CASE WHEN t.io THEN round(blk_read_time * 1000)::bigint END  AS read_stall,
       CASE WHEN t.io THEN round(blk_write_time * 1000)::bigint END AS write_stall,
       blks_hit                                       AS hits,
       temp_files                                     AS temp_files,
       temp_bytes                                     AS temp_bytes,
       round(extract(epoch FROM stats_reset) * 1000000)::bigint     AS statistics_reset
FROM pg_stat_database,
     (SELECT current_setting('track_io_timing')::bool) AS t(io),
     (SELECT current_setting('block_size')::bigint) AS c(block_size),
     LATERAL (SELECT CASE WHEN datname IS NULL THEN '(shared)'::bytea
                          WHEN getdatabaseencoding() = 'SQL_ASCII' THEN convert_to(datname, 'SQL_ASCII')
                          ELSE textsend(datname) END) AS b(name)
