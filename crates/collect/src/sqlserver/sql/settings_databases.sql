/* iostall:settings_databases */
SET LOCK_TIMEOUT 1000;
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
SELECT N'database ' + d.name                                           AS subject,
       v.name,
       v.value
FROM sys.databases AS d
CROSS APPLY (VALUES
    (N'recovery model',         CONVERT(nvarchar(60), d.recovery_model_desc)),
    (N'page verify',            CONVERT(nvarchar(60), d.page_verify_option_desc)),
    (N'state',                  CONVERT(nvarchar(60), d.state_desc)),
    (N'compatibility level',    CONVERT(nvarchar(60), d.compatibility_level)),
    (N'auto close',             CASE d.is_auto_close_on WHEN 1 THEN N'on' ELSE N'off' END),
    (N'auto shrink',            CASE d.is_auto_shrink_on WHEN 1 THEN N'on' ELSE N'off' END),
    (N'read only',              CASE d.is_read_only WHEN 1 THEN N'on' ELSE N'off' END),
    (N'standby',                CASE d.is_in_standby WHEN 1 THEN N'yes' ELSE N'no' END),
    (N'encryption',             CASE d.is_encrypted WHEN 1 THEN N'on' ELSE N'off' END),
    (N'read committed snapshot', CASE d.is_read_committed_snapshot_on WHEN 1 THEN N'on' ELSE N'off' END),
    (N'created',                CONVERT(nvarchar(30), d.create_date, 126))
) AS v (name, value)
WHERE d.source_database_id IS NULL;
