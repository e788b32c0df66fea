/* iostall:points */
-- The statements of the tests of points in time, each under its name; what begins with $ is replaced.

-- name: schema
CREATE TABLE ledger (id bigint PRIMARY KEY, filler text);

-- name: row
INSERT INTO ledger VALUES ($number, repeat(md5($number::text), 100));

-- name: xid
BEGIN; INSERT INTO ledger VALUES ($number, 'named'); SELECT txid_current(); COMMIT;

-- name: bulk
INSERT INTO ledger SELECT n, repeat(md5(n::text), 100) FROM generate_series($from, $to) AS n;

-- name: count
SELECT count(*) FROM ledger;

-- name: last
SELECT coalesce(max(id), 0) FROM ledger;

-- name: now
SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');

-- name: lsn
SELECT pg_current_wal_lsn();

-- name: switch
SELECT pg_walfile_name(pg_switch_wal());

-- name: point
SELECT pg_create_restore_point('$name');

-- name: archived
SELECT coalesce(last_archived_wal, '') FROM pg_stat_archiver;

-- name: failed
SELECT failed_count FROM pg_stat_archiver;

-- name: recovering
SELECT pg_is_in_recovery();

-- name: paused
SELECT CASE WHEN pg_is_in_recovery() THEN pg_is_wal_replay_paused() ELSE false END;

-- name: resume
SELECT pg_wal_replay_resume();

-- name: timeline
SELECT timeline_id FROM pg_control_checkpoint();

-- name: is_last
SELECT max(id) = $number FROM ledger;

-- name: checkpoint
CHECKPOINT;
