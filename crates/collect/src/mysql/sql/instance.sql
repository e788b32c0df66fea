/* iostall:instance */
SELECT VERSION()               AS version,
       @@hostname              AS host,
       CONCAT_WS(':', @@hostname, @@port, @@datadir) AS instance,
       @@performance_schema    AS performance_schema
