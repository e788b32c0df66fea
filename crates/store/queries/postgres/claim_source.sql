/* iostall:claim_source */
INSERT INTO iostall.source (id, server, name)
SELECT $1::text::uuid, $2, $3
WHERE (SELECT count(*) FROM iostall.source WHERE server = $2) < $4
ON CONFLICT (id) DO NOTHING;
