/* iostall:postgres_scan_twice */
SELECT count(*) FROM t;
SELECT count(*) FROM t;
