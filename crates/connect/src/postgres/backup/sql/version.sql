/* iostall:backup_version */
SELECT current_setting('server_version_num')::int / 10000 AS version
