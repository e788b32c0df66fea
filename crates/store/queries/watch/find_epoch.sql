/* iostall:find_epoch */
SELECT number FROM watch_epoch WHERE source = :source AND document = :document AND clock = :clock;
