/* iostall:put_received */
UPDATE iostall.relay_key SET received = greatest(received, $2) WHERE server = $1;
