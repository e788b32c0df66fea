/* iostall:lake_fetch_rows */
FETCH FORWARD 5000 FROM lake_rows;
