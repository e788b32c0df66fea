/* iostall:sheet_marks */
SELECT kind, name, state FROM iostall.sheet WHERE server = $1 ORDER BY kind, name;
