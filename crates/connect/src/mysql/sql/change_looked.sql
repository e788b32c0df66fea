/* iostall:change_looked */
ROLLBACK
