/* iostall:backup_postgres */
-- The statements of these tests, each under its name; what begins with $ is replaced.

-- name: schema
CREATE TABLE account (id int PRIMARY KEY, balance bigint NOT NULL, filler text);
INSERT INTO account SELECT n, 0, repeat(md5(n::text), 6) FROM generate_series(1, 30000) AS n;
CREATE TABLE ledger (id bigint PRIMARY KEY);
CHECKPOINT

-- name: transfer
BEGIN;
UPDATE account SET balance = balance - 1 WHERE id = $from;
UPDATE account SET balance = balance + 1 WHERE id = $to;
INSERT INTO ledger VALUES ($number);
COMMIT

-- name: committed
SELECT count(*) FROM ledger WHERE id <= $last

-- name: last
SELECT coalesce(max(id), 0) FROM ledger

-- name: ledger
SELECT count(*) FROM ledger

-- name: is_consistent
SELECT sum(balance) = 0 AND (SELECT coalesce(max(id), 0) = count(*) FROM public.ledger) FROM public.account

-- name: balances
SELECT abs(sum(balance))::bigint FROM account

-- name: gaps
SELECT coalesce(max(id), 0) - count(*) FROM ledger

-- name: amcheck
CREATE EXTENSION amcheck

-- name: check_indexes
SELECT bt_index_parent_check('account_pkey', true), bt_index_parent_check('ledger_pkey', true)

-- name: check_heaps
SELECT count(*)
FROM pg_class AS c, verify_heapam(c.oid)
WHERE c.relkind IN ('r', 't') AND c.relpersistence = 'p'

-- name: accounts
SELECT count(*) FROM account

-- name: slots
SELECT count(*) FROM pg_replication_slots

-- name: temporary_slots
SELECT count(*) FROM pg_replication_slots WHERE temporary

-- name: sessions
SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%iostall:backup%' AND pid <> pg_backend_pid()

-- name: make_rows
CREATE TABLE $table AS SELECT n, repeat('x', 500) AS filler FROM generate_series(1, 5000) AS n

-- name: add_rows
INSERT INTO $table SELECT n, repeat('x', 500) FROM generate_series(1, 5000) AS n

-- name: drop_and_cut
DROP TABLE dropped;
DELETE FROM cut WHERE n > 10

-- name: count
SELECT count(*) FROM $table

-- name: is_there
SELECT count(*) FROM pg_class WHERE relname = '$table'

-- name: make_tablespace
CREATE TABLESPACE fast LOCATION '$place'

-- name: make_in_tablespace
CREATE TABLE t TABLESPACE fast AS SELECT generate_series(1, 1000) AS n

-- name: add_zero
INSERT INTO t VALUES (0)

-- name: add_one
UPDATE t SET n = n + 1

-- name: least
SELECT min(n) FROM t

-- name: make_cache
CREATE UNLOGGED TABLE cache AS SELECT generate_series(1, 1000) AS n

-- name: make_keyed
CREATE UNLOGGED TABLE keyed (n int PRIMARY KEY);
INSERT INTO keyed VALUES (1);
CHECKPOINT

-- name: count_unlogged
SELECT (SELECT count(*) FROM cache) + (SELECT count(*) FROM keyed)

-- name: use_unlogged
INSERT INTO cache VALUES (1);
INSERT INTO keyed VALUES (1)

-- name: file_node
SELECT pg_relation_filenode('$table')

-- name: database_oid
SELECT oid FROM pg_database WHERE datname = 'postgres'

-- name: receivers
SELECT count(*) FROM pg_stat_wal_receiver

-- name: switch
SELECT pg_switch_wal()

-- name: promote
SELECT pg_promote(false)

-- name: summarize
ALTER SYSTEM SET summarize_wal = on

-- name: reload
SELECT pg_reload_conf()

-- name: make_logins
CREATE ROLE reader LOGIN;
GRANT pg_read_all_stats TO reader;
CREATE ROLE scram LOGIN REPLICATION PASSWORD 'geheim';
CREATE ROLE plain LOGIN REPLICATION PASSWORD 'geheim';
SET password_encryption = 'md5';
CREATE ROLE md5 LOGIN REPLICATION PASSWORD 'geheim'
