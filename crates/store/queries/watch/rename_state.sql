/* iostall:rename_state */
-- An earlier one that was set aside gives way to it.
UPDATE OR REPLACE collector_state
   SET name = :later
 WHERE name = :name;
