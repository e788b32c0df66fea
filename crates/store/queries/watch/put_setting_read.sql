/* iostall:put_setting_read */
INSERT INTO watch_setting_read (source, first_utc_ns, last_utc_ns, tool_version)
VALUES (:source, :at_utc_ns, :at_utc_ns, :tool_version)
ON CONFLICT (source) DO UPDATE
   SET last_utc_ns  = excluded.last_utc_ns,
       tool_version = excluded.tool_version;
