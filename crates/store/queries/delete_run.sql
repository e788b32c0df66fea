/* iostall:delete_run */
/* Targets and document go with it (ON DELETE CASCADE). */
DELETE FROM run
 WHERE number = :number;
