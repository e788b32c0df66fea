/* iostall:count_notes */
SELECT count(*) FROM iostall.note WHERE server = $1;
