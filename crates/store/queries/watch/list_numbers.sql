/* iostall:list_numbers */
SELECT number FROM watch_source ORDER BY number;
