/* iostall:list_state */
SELECT name
  FROM collector_state
 ORDER BY name;
