/* iostall:end_volume_devices */
-- Of the volumes of a source that were looked at ($5): devices under them that are there no more. A tag by hand stays.
UPDATE iostall.volume_device AS p SET until = now()
FROM iostall.volume AS v, iostall.device AS d
WHERE v.source = $1 AND p.volume = v.number AND d.number = p.device AND p.until IS NULL AND d.kind <> 'tag'
  AND v.name = ANY ($5::text[])
  AND NOT EXISTS (SELECT FROM unnest($2::text[], $3::text[], $4::text[]) AS given (volume, kind, identity)
                  WHERE given.volume = v.name AND given.kind = d.kind AND given.identity = d.identity);
