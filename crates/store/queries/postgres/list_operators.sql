/* iostall:list_operators */
SELECT key, name, role FROM iostall.operator ORDER BY name, key;
