/* iostall:test_pulled_orders */
SELECT reads + hits FROM (
    SELECT r.reads, r.hits FROM iostall.sample_row AS r
    JOIN iostall.series AS f ON f.number = r.series
    JOIN iostall.source AS o ON o.number = r.source
    WHERE o.name = 'few 2' AND f.name = 'public.orders'
    ORDER BY r.number DESC LIMIT 1
) AS newest;
