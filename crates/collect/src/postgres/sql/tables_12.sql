/* iostall:tables */
-- Blocks read of every table of this database, its TOAST included. Keyed by the object id: the file's path
-- changes with VACUUM FULL, the statistics do not. A tablespace other than the two that every server has (1663 and 1664)
-- is part of the key: a table that moves leaves its past where that was. PostgreSQL counts neither time nor writes per
-- table.
WITH place AS MATERIALIZED (
  -- Once a tablespace and not once a row: the location is read from a symbolic link. What has none is in the data
  -- directory, which iostall:place tells.
  SELECT t.oid, nullif(pg_tablespace_location(t.oid), '') AS directory
  FROM pg_tablespace AS t
)
-- Relations that all databases share have the same counters in each. Names are bytes: in a database without an
-- encoding they may be anything.
SELECT CASE WHEN c.relisshared THEN '(shared)'::bytea
            WHEN e.is_raw THEN convert_to(current_database(), 'SQL_ASCII')
            ELSE textsend(current_database()) END     AS database,
       CASE WHEN e.is_raw THEN convert_to(n.full_name, 'SQL_ASCII')
            ELSE textsend(n.full_name) END AS name,
       w.datid::text || '/' || s.relid::text
         || CASE WHEN t.oid IN (1663, 1664) THEN '' ELSE '/' || t.oid::text END AS identity,
       CASE WHEN e.is_raw THEN convert_to(p.directory, 'SQL_ASCII')
            ELSE textsend(p.directory) END            AS volume,
       coalesce(s.heap_blks_read, 0) + coalesce(s.toast_blks_read, 0) + coalesce(s.tidx_blks_read, 0) AS reads,
       (coalesce(s.heap_blks_read, 0) + coalesce(s.toast_blks_read, 0) + coalesce(s.tidx_blks_read, 0))
         * current_setting('block_size')::bigint      AS read_bytes,
       coalesce(s.heap_blks_hit, 0) + coalesce(s.toast_blks_hit, 0) + coalesce(s.tidx_blks_hit, 0) AS hits,
       round(extract(epoch FROM w.stats_reset) * 1000000)::bigint AS statistics_reset
FROM pg_statio_all_tables AS s
JOIN pg_class AS c ON c.oid = s.relid
JOIN pg_database AS d ON d.datname = current_database()
JOIN pg_stat_database AS w ON w.datid = CASE WHEN c.relisshared THEN 0 ELSE d.oid END
CROSS JOIN (SELECT getdatabaseencoding() = 'SQL_ASCII') AS e(is_raw)
CROSS JOIN LATERAL (SELECT coalesce(nullif(c.reltablespace, 0), d.dattablespace)) AS t(oid)
LEFT JOIN place AS p ON p.oid = t.oid
CROSS JOIN LATERAL (
  -- "a.b".c and a."b.c" are two.
  SELECT CASE WHEN position('.' in s.schemaname || s.relname) > 0
              THEN quote_ident(s.schemaname) || '.' || quote_ident(s.relname)
              ELSE s.schemaname || '.' || s.relname END
) AS n(full_name)
WHERE s.schemaname <> 'pg_toast'
