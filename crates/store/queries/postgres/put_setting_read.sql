/* iostall:put_setting_read */
INSERT INTO iostall.setting_read AS r (source, first_utc_ns, last_utc_ns, tool_version) VALUES ($1, $2, $3, $4)
ON CONFLICT (source) DO UPDATE
   SET first_utc_ns = least(r.first_utc_ns, excluded.first_utc_ns),
       last_utc_ns  = greatest(r.last_utc_ns, excluded.last_utc_ns),
       tool_version = excluded.tool_version;
