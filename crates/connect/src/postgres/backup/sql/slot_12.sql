/* iostall:backup_slot */
-- Keeps the log from here on until this session ends, however it ends.
SELECT slot_name::text AS name FROM pg_create_physical_replication_slot($1, true, true)
