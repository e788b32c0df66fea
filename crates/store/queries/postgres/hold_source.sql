/* iostall:hold_source */
-- Who holds a source: this connection ('ours'), another one ('theirs') or none ('free'), and how far the source is. With $2 a free
-- one is taken. It is held until the connection ends, however that happens.
SELECT CASE
           WHEN h.is_ours THEN 'ours'
           WHEN h.is_ours IS NOT NULL THEN 'theirs'
           WHEN NOT $2::boolean THEN 'free'
           WHEN pg_try_advisory_lock(k.key) THEN 'ours'
           ELSE 'theirs'
       END AS holder,
       s.appended, s.last_utc_ns,
       (SELECT taken_utc_ns FROM iostall.sample WHERE source = s.number AND number = s.last_number) AS newest_utc_ns
FROM iostall.source AS s
CROSS JOIN LATERAL (SELECT hashtextextended('iostall pull ' || s.id::text, 0) AS key) AS k
CROSS JOIN LATERAL (
    SELECT bool_or(l.pid = pg_backend_pid()) AS is_ours
    FROM pg_locks AS l
    WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND (l.classid::bigint << 32 | l.objid::bigint) = k.key
) AS h
WHERE s.id = $1::text::uuid;
