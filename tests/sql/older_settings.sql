/* iostall:older_settings */
UPDATE collector_state
   SET document = json_set(document, '$.values."vm.swappiness"', '7')
 WHERE name = 'settings of linux:';
