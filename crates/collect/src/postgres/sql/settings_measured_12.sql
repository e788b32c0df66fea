/* iostall:settings_measured */
SELECT ''::text                                                        AS subject,
       'last archived'::text                                           AS name,
       to_char(last_archived_time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS value
  FROM pg_stat_archiver
UNION ALL
SELECT '', 'last archiving failed', to_char(last_failed_time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
  FROM pg_stat_archiver
