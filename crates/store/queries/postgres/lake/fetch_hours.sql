/* iostall:lake_fetch_hours */
FETCH FORWARD 5000 FROM lake_hours;
