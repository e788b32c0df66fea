/* iostall:put_sheet */
-- The row stays locked until the end of the transaction: of two senders of a sheet, one waits.
INSERT INTO iostall.sheet AS s (server, kind, name, state, refused) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (server, kind, name) DO UPDATE
   SET state = excluded.state, refused = excluded.refused, received = now()
 WHERE s.state <> excluded.state OR s.refused IS NOT NULL;
