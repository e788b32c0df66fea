/* iostall:change_id */
SELECT txid_current()::text;
