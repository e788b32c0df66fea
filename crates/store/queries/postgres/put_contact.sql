/* iostall:put_contact */
-- Reports on all servers call it by the name under which it has joined.
WITH contact AS (
    UPDATE iostall.member SET last_contact = now(), host = $2, version = $3, clock_ahead_ms = $4 WHERE server = $1
    RETURNING server, name, version, last_contact, clock_ahead_ms
)
UPDATE iostall.server AS s
   SET hostname = c.name, version = c.version, last_contact = c.last_contact, clock_ahead_ms = c.clock_ahead_ms
FROM contact AS c
WHERE s.number = c.server;
