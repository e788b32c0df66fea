/* iostall:end_setting */
UPDATE watch_setting
   SET to_utc_ns = :at_utc_ns
 WHERE source = :source
   AND subject = :subject
   AND name = :name
   AND to_utc_ns IS NULL;
