/* iostall:test_forge_push */
-- Who has the tables begins a push by hand.
WITH forged AS (
    INSERT INTO iostall.push (release, state, ring, rings, failed_max)
    SELECT id, 'running', 1, 1, '0' FROM iostall.release ORDER BY version DESC LIMIT 1
    RETURNING number)
INSERT INTO iostall.push_server (push, server, ring, state)
SELECT forged.number, member.server, 1, 'asked' FROM forged, iostall.member;
