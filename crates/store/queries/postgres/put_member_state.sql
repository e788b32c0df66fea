/* iostall:put_member_state */
-- Reports on all servers tell of a copy of a server wherever it was noticed.
WITH changed AS (
    UPDATE iostall.member SET state = $2, state_since = now() WHERE server = $1 RETURNING server, state
)
UPDATE iostall.server AS s SET clone_noticed = now()
FROM changed AS c
WHERE s.number = c.server AND c.state = 'copied';
