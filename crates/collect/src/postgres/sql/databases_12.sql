/* iostall:databases */
-- Blocks of each database, and the time its backends waited for data files. Database 0 holds the objects that
-- all databases share; the time waited for them is booked to the database of the backend. A database may have
-- track_io_timing set for itself, and so may the one we ask in: its setting is not the server's. Names are bytes: a
-- database may have been named in another encoding than this one's.
SELECT b.name                                         AS database,
       b.name                                         AS name,
       datid::text                                    AS identity,
       blks_read                                      AS reads,
       blks_read * c.block_size                             AS read_bytes,
       CASE WHEN b.is_timed THEN round(blk_read_time * 1000)::bigint END  AS read_stall,
       CASE WHEN b.is_timed THEN round(blk_write_time * 1000)::bigint END AS write_stall,
       blks_hit                                       AS hits,
       temp_files                                     AS temp_files,
       temp_bytes                                     AS temp_bytes,
       round(extract(epoch FROM stats_reset) * 1000000)::bigint     AS statistics_reset
FROM pg_stat_database AS s
CROSS JOIN (SELECT current_setting('block_size')::bigint) AS c(block_size)
CROSS JOIN (
  SELECT current_setting('track_io_timing')::bool
           OR EXISTS (
             SELECT
             FROM pg_db_role_setting AS r, unnest(r.setconfig) AS one(setting)
             WHERE one.setting LIKE 'track_io_timing=%' AND (r.setdatabase <> 0 OR r.setrole <> 0)
               AND r.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
               AND r.setrole IN (0, (SELECT oid FROM pg_roles WHERE rolname = current_user))
           )
) AS t(io)
LEFT JOIN LATERAL (
  SELECT split_part(one.setting, '=', 2)::bool
  FROM pg_db_role_setting AS r, unnest(r.setconfig) AS one(setting)
  WHERE one.setting LIKE 'track_io_timing=%' AND r.setdatabase = s.datid AND r.setrole = 0
) AS own(io) ON true
CROSS JOIN LATERAL (
  SELECT CASE WHEN datname IS NULL THEN '(shared)'::bytea
              WHEN getdatabaseencoding() = 'SQL_ASCII' THEN convert_to(datname, 'SQL_ASCII')
              ELSE textsend(datname) END,
         datid <> 0 AND coalesce(own.io, t.io)
) AS b(name, is_timed)
