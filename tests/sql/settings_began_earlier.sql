/* iostall:settings_began_earlier */
UPDATE watch_setting
   SET from_utc_ns = from_utc_ns - 7200000000000;
