/* iostall:tune_size */
-- @P1: the database. What a whole backup reads at most, and whether the server compresses backups where nothing is said.
SELECT (SELECT SUM(CONVERT(bigint, f.size)) * 8192
        FROM sys.master_files AS f
        WHERE f.database_id = DB_ID(@P1) AND f.type <> 1)        AS database_bytes,
       (SELECT CONVERT(bigint, c.value_in_use)
        FROM sys.configurations AS c
        WHERE c.name = N'backup compression default')            AS compresses;
