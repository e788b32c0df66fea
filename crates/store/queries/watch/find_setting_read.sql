/* iostall:find_setting_read */
SELECT first_utc_ns, last_utc_ns, tool_version FROM watch_setting_read WHERE source = :source;
