/* iostall:put_volume_devices */
INSERT INTO iostall.volume_device (volume, device)
SELECT DISTINCT v.number, d.number
FROM unnest($2::text[], $3::text[], $4::text[]) AS given (volume, kind, identity)
JOIN iostall.volume AS v ON v.source = $1 AND v.name = given.volume
JOIN iostall.device AS d ON d.kind = given.kind AND d.identity = given.identity
WHERE NOT EXISTS (SELECT FROM iostall.volume_device AS p WHERE p.volume = v.number AND p.device = d.number AND p.until IS NULL)
ON CONFLICT (volume, device, since) DO UPDATE SET until = NULL;
