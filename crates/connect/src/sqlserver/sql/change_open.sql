/* iostall:change_open */
SELECT CAST(@@TRANCOUNT AS nvarchar(20)) AS value;
