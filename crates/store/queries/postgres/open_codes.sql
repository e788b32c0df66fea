/* iostall:open_codes */
-- Codes with which a server may join, and those with which one has just joined, which may ask again.
SELECT hash FROM iostall.join_code
WHERE (used IS NULL AND expires > now()) OR used > now() - interval '30 days'
ORDER BY created DESC
LIMIT 1000;
