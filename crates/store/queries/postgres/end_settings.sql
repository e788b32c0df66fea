/* iostall:end_settings */
-- Ends what holds no longer. The newest sheet, with the versions given, was read at $5: what it does not know ended when another value
-- followed, or else by then. An older sheet ($5 is NULL) may have added versions that were followed by others.
UPDATE iostall.setting AS s
   SET to_utc_ns = greatest(s.from_utc_ns, coalesce(
           (SELECT min(n.from_utc_ns)
              FROM iostall.setting AS n
             WHERE n.source = s.source AND n.subject = s.subject AND n.name = s.name AND n.from_utc_ns > s.from_utc_ns),
           $5))
 WHERE s.source = $1
   AND s.class = 'setting'
   AND s.to_utc_ns IS NULL
   AND CASE WHEN $5::bigint IS NULL
            THEN EXISTS (SELECT FROM iostall.setting AS n
                          WHERE n.source = s.source AND n.subject = s.subject AND n.name = s.name
                            AND n.from_utc_ns > s.from_utc_ns)
            ELSE NOT EXISTS (SELECT FROM unnest($2::text[], $3::text[], $4::bigint[]) AS given (subject, name, from_utc_ns)
                              WHERE given.subject = s.subject AND given.name = s.name
                                AND given.from_utc_ns = s.from_utc_ns)
       END;
