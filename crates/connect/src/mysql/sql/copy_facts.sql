/* iostall:copy_facts */
SELECT VERSION() AS version
