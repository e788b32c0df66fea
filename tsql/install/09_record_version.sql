/* iostall:record_version */
-- The last script: what it records is there. A view or a procedure whose script failed is missing, or holds nothing but
-- its placeholder.
DECLARE @missing NVARCHAR(400);
SELECT TOP (1) @missing = o.name
FROM (
    SELECT N'file_delta' AS name
    UNION ALL
    SELECT N'file_rate' AS name
    UNION ALL
    SELECT N'group_rate' AS name
    UNION ALL
    SELECT N'roll_up_rate' AS name
    UNION ALL
    SELECT N'take_sample' AS name
    UNION ALL
    SELECT N'run_samples' AS name
    UNION ALL
    SELECT N'roll_up_samples' AS name
    UNION ALL
    SELECT N'purge_history' AS name
) AS o
WHERE
    OBJECT_ID(N'iostall.' + o.name) IS NULL
    OR LEN(OBJECT_DEFINITION(OBJECT_ID(N'iostall.' + o.name))) < 200
ORDER BY o.name;
IF @missing IS NOT NULL
    RAISERROR (N'iostall.%s is not installed: run the scripts before this one again. No version is recorded.', 16, 1, @missing);
ELSE
    INSERT INTO iostall.installation (version)
    SELECT N'1'
    WHERE NOT EXISTS (
        SELECT 1
        FROM iostall.installation AS i
        WHERE i.version = N'1' AND i.installation_id = (SELECT MAX(n.installation_id) FROM iostall.installation AS n)
    );
GO
