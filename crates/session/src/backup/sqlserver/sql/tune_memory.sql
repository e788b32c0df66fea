/* iostall:tune_memory */
-- What the server's machine has left, of which the buffers may take a part. Needs VIEW SERVER STATE.
SELECT CONVERT(bigint, m.available_physical_memory_kb) AS available_kb
FROM sys.dm_os_sys_memory AS m;
