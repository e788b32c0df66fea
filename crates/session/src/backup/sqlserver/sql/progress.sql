/* iostall:backup_progress */
-- @P1: the session that runs the backup. No row once it has ended, and none without VIEW SERVER STATE.
SELECT CONVERT(bigint, r.percent_complete * 100)    AS percent_hundredths,
       CONVERT(bigint, r.estimated_completion_time) AS left_ms
FROM sys.dm_exec_requests AS r
WHERE r.session_id = @P1 AND (r.command LIKE N'BACKUP%' OR r.command LIKE N'RESTORE%');
