/* iostall:backup_trace_lines */
-- @P1: since when, by the server's clock. @P2: the session. The log rounds times down to hundredths of a second.
SET NOCOUNT ON;
DECLARE @since datetime = DATEADD(MILLISECOND, -10, CONVERT(datetime, @P1, 126));
DECLARE @line TABLE (number int IDENTITY(1, 1), logged datetime, process nvarchar(60), said nvarchar(max));
INSERT INTO @line (logged, process, said)
EXEC master.dbo.xp_readerrorlog 0, 1, NULL, NULL, @since, NULL, N'asc';
SELECT CONVERT(nvarchar(30), l.logged, 126) AS logged,
       l.said
FROM @line AS l
WHERE l.process = N'spid' + CONVERT(nvarchar(20), @P2)
ORDER BY l.number;
