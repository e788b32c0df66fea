/* iostall:change_looked */
ROLLBACK TO SAVEPOINT iostall_look;
RELEASE SAVEPOINT iostall_look;
