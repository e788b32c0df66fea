/* iostall:list_epochs */
SELECT number, document, clock FROM iostall.epoch WHERE source = $1;
