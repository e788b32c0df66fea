/* iostall:backup_identifier */
-- Which cluster it is: the number was made with it, and its standbys and copies have it too.
SELECT system_identifier::text AS system_identifier FROM pg_catalog.pg_control_system()
