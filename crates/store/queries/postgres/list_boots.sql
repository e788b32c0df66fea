/* iostall:list_boots */
-- The boots that have sent as a server, the latest first.
SELECT boot, hostname, last_seen FROM iostall.server_boot WHERE server = $1 ORDER BY last_seen DESC, boot;
