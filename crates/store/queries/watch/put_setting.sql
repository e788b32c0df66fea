/* iostall:put_setting */
-- A clock that was set back can make a version begin where one did: the newer value counts.
INSERT INTO watch_setting (source, subject, name, from_utc_ns, to_utc_ns, value, class, is_change)
VALUES (:source, :subject, :name, :at_utc_ns, NULL, :value, :class, :is_change)
ON CONFLICT (source, subject, name, from_utc_ns) DO UPDATE
   SET to_utc_ns = NULL,
       value     = excluded.value,
       class     = excluded.class;
