/* iostall:add_sample */
INSERT INTO watch_sample (source, epoch, taken_utc_ns, clock_ns, uptime_s, is_whole, body)
VALUES (:source, :epoch, :taken_utc_ns, :clock_ns, :uptime_s, :is_whole, :body);
