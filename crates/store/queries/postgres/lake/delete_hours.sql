/* iostall:lake_delete_hours */
DELETE FROM iostall.rollup_hour WHERE beginning >= $1 AND beginning < $2;
