/* iostall:settings_rights */
-- Whether the login sees the rows of all databases and files: what a right hides is no error, and must not be taken for gone.
SELECT CONVERT(bigint, ISNULL(HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW ANY DEFINITION'), 0)) AS sees_definitions,
       CONVERT(bigint, ISNULL(HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW ANY DATABASE'), 0))   AS sees_databases;
