/* iostall:record_version */
-- The last script: what it records is there.
INSERT INTO iostall.installation (version)
SELECT N'1'
WHERE NOT EXISTS (
    SELECT 1
    FROM iostall.installation AS i
    WHERE i.version = N'1' AND i.installation_id = (SELECT MAX(n.installation_id) FROM iostall.installation AS n)
);
GO
