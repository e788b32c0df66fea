/* iostall:put_volumes */
-- The volumes that the series of a source lie on.
INSERT INTO iostall.volume (source, name)
SELECT DISTINCT source, lies_on FROM iostall.series WHERE source = $1 AND lies_on IS NOT NULL
ON CONFLICT (source, name) DO NOTHING;
