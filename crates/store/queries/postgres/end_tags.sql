/* iostall:end_tags */
UPDATE iostall.volume_device AS p SET until = now()
FROM iostall.device AS d
WHERE p.volume = $1 AND d.number = p.device AND d.kind = 'tag' AND p.until IS NULL AND d.identity <> $2;
