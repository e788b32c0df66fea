/* iostall:delete_measured_settings */
DELETE FROM watch_setting WHERE source = :source AND class <> 'setting';
