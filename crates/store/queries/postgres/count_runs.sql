/* iostall:count_runs */
SELECT count(*) FROM iostall.run WHERE server = $1;
