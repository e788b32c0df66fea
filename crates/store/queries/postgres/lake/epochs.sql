/* iostall:lake_epochs */
SELECT number, id::text, document, clock FROM iostall.epoch WHERE source = $1;
