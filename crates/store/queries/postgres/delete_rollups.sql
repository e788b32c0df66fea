/* iostall:delete_rollups */
DELETE FROM iostall.{table} WHERE source = $1 AND beginning >= $2 AND beginning < $3;
