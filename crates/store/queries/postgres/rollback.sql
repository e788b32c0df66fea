/* iostall:rollback */
ROLLBACK;
