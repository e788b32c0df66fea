/* iostall:settings_read_earlier */
UPDATE watch_setting_read
   SET last_utc_ns = last_utc_ns - 7200000000000,
       first_utc_ns = first_utc_ns - 7200000000000;
