/* iostall:zone_offset */
SELECT extract(timezone_hour FROM now())::int
