/* iostall:delete_measured_settings */
DELETE FROM iostall.setting WHERE source = $1 AND class <> 'setting';
