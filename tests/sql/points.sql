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
SELECT max(id) = $number FROM public.ledger;

-- name: checkpoint
CHECKPOINT;

-- name: make_tablespace
CREATE TABLESPACE fast LOCATION '$place';

-- name: fill_tablespace
CREATE TABLE moved TABLESPACE fast AS SELECT n AS id, repeat(md5(n::text), 20) AS filler FROM generate_series(1, 3000) AS n;

-- name: change_tablespace
UPDATE moved SET filler = 'changed' WHERE id > 2900;

-- name: changed_in_tablespace
SELECT count(*) FROM moved WHERE filler = 'changed';

-- name: where_tablespace
SELECT pg_tablespace_location(oid) FROM pg_tablespace WHERE spcname = 'fast';

-- name: file_of_ledger
SELECT pg_relation_filepath('ledger');

-- name: vacuum
VACUUM ledger;

-- name: map_bytes
SELECT pg_relation_size('ledger', 'vm');

-- name: forget
DELETE FROM ledger WHERE id > $from;

-- name: count_by_index
SET enable_seqscan = off; SET enable_bitmapscan = off; SELECT count(id) FROM ledger WHERE id > 0;

-- name: synchronous
SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync' AND application_name = 'iostall_wal';

-- name: waiting
SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep';

-- name: wait_for_archive
ALTER SYSTEM SET synchronous_standby_names = 'iostall_wal';

-- name: wait_for_nobody
ALTER SYSTEM RESET synchronous_standby_names;

-- name: reload
SELECT pg_reload_conf();
