/* iostall:delete_rows */
DELETE FROM iostall.{table} WHERE source = $1;
