/* iostall:server_names */
-- What each server is called: as it joined, its host, and the id of its store.
SELECT v.id::text, m.name, v.hostname
FROM iostall.server AS v
LEFT JOIN iostall.member AS m ON m.server = v.number;
