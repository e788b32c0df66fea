/* iostall:backup_position */
-- Where the newest backup of @database is in its media set: an appended one is not the first.
DECLARE @position int;
SELECT TOP (1) @position = b.position
FROM msdb.dbo.backupset AS b
WHERE b.database_name = @database AND b.server_name = @@SERVERNAME
ORDER BY b.backup_set_id DESC;
