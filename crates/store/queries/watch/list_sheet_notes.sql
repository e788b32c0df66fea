/* iostall:list_sheet_notes */
-- Notes about this store's own sources and about all of them, in order of time; one of them where :number is given.
SELECT watch_source.id AS id, watch_source.store AS store, watch_source.name AS name, at_utc_ns, end_utc_ns, kind, text
  FROM watch_note
  LEFT JOIN watch_source ON watch_source.number = watch_note.source
 WHERE at_utc_ns >= :from
   AND at_utc_ns < :to
   AND (watch_source.store IS NULL OR watch_source.store = :store)
   AND (:number IS NULL OR watch_note.number = :number)
 ORDER BY at_utc_ns, watch_note.number;
