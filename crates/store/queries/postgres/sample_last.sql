/* iostall:sample_last */
SELECT coalesce(max(number), 0) FROM iostall.sample WHERE source = $1;
