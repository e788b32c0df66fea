/* iostall:lock_sender */
-- Until the session ends, nobody else sends what the store of this server has. The two numbers are this lock's alone.
SELECT pg_advisory_lock(1768911969, $1::integer)
WHERE NOT EXISTS (SELECT FROM pg_locks
                  WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted
                    AND classid = 1768911969 AND objid = $1::integer::oid AND objsubid = 2);
