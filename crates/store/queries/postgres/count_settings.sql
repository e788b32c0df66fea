/* iostall:count_settings */
SELECT count(*) FROM iostall.setting WHERE source = $1;
