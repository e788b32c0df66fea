/* iostall:find_rollup */
SELECT body FROM watch_rollup WHERE tier = :tier AND beginning_s = :beginning_s AND series = :series;
