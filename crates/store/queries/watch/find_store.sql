/* iostall:find_store */
SELECT id FROM store_identity;
