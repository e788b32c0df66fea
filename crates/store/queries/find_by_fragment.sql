/* iostall:find_by_fragment */
/* :fragment is hexadecimal digits without hyphens, the first or the last ones of an id. */
SELECT *
  FROM run_entry
 WHERE substr(replace(id, '-', ''), 1, length(:fragment)) = :fragment
    OR substr(replace(id, '-', ''), -length(:fragment)) = :fragment
 ORDER BY started_utc DESC, number DESC;
