/* iostall:drill_count */
SELECT count(*) FROM orders;
