/* iostall:put_tag */
INSERT INTO iostall.volume_device (volume, device)
SELECT $1, d.number FROM iostall.device AS d
WHERE d.kind = 'tag' AND d.identity = $2
  AND NOT EXISTS (SELECT FROM iostall.volume_device AS p WHERE p.volume = $1 AND p.device = d.number AND p.until IS NULL)
ON CONFLICT (volume, device, since) DO UPDATE SET until = NULL;
