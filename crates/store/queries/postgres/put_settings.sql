/* iostall:put_settings */
-- With $9 the sheet is the newest one: it says how each of its versions is. Without, it is from before the last one, such as of a store
-- that was restored from an older copy: then it adds what is not there.
INSERT INTO iostall.setting AS s (source, subject, name, from_utc_ns, to_utc_ns, value, class, is_change)
SELECT $1, given.*
FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::boolean[])
     AS given (subject, name, from_utc_ns, to_utc_ns, value, class, is_change)
ON CONFLICT (source, subject, name, from_utc_ns) DO UPDATE
   SET to_utc_ns = excluded.to_utc_ns, value = excluded.value, class = excluded.class, is_change = excluded.is_change
 WHERE $9
   AND (s.to_utc_ns, s.value, s.class, s.is_change)
       IS DISTINCT FROM (excluded.to_utc_ns, excluded.value, excluded.class, excluded.is_change);
