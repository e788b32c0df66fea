/* iostall:find_sheets_state */
SELECT (SELECT count(*) || ' ' || ifnull(max(number), 0) FROM watch_note)
       || ' ' || (SELECT count(*) || ' ' || ifnull(sum(last_utc_ns / 1000000), 0) FROM watch_setting_read)
    AS state;
