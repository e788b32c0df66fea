/* iostall:postgres_0010_drop_ways_of_sending */

/* Servers send to a centre alone. The history of those that sent through a relay, or logged in here themselves, stays. */
DROP TABLE iostall.relay_key;
DROP TABLE iostall.server_boot;
