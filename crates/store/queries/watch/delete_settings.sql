/* iostall:delete_settings */
DELETE FROM watch_setting WHERE source = :source AND to_utc_ns < :utc_ns;
