/* iostall:backup_trace_on */
-- Of this session only: they end with it, however it ends. One row: since when its lines count.
DBCC TRACEON (3605, 3004, 3014, 3212, 3213) WITH NO_INFOMSGS;
SELECT CONVERT(nvarchar(30), GETDATE(), 126) AS since;
