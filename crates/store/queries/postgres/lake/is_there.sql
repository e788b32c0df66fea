/* iostall:lake_is_there */
-- Whether a day has samples.
SELECT EXISTS (SELECT FROM iostall.sample WHERE taken >= $1 AND taken < $2);
