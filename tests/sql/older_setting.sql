/* iostall:older_setting */
UPDATE watch_setting
   SET value = '7'
 WHERE name = 'vm.swappiness';
