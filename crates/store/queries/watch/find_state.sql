/* iostall:find_state */
SELECT document
  FROM collector_state
 WHERE name = :name;
