/* iostall:find_setting_read */
SELECT first_utc_ns, last_utc_ns FROM iostall.setting_read WHERE source = $1;
