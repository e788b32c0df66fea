/* iostall:list_all_notes */
SELECT watch_note.number AS number,
       watch_source.name AS source,
       at_utc_ns,
       end_utc_ns,
       kind,
       text
  FROM watch_note
  LEFT JOIN watch_source ON watch_source.number = watch_note.source
 WHERE at_utc_ns < :to
   AND coalesce(end_utc_ns, at_utc_ns) >= :from
 ORDER BY at_utc_ns, watch_note.number;
