/* iostall:lake_close */
CLOSE lake_rows;
CLOSE lake_hours;
