/* iostall:rename_source */
UPDATE iostall.source SET name = $2 WHERE number = $1 AND name <> $2;
