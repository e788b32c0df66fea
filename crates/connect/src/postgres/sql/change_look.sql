/* iostall:change_look */
SAVEPOINT iostall_look;
SET LOCAL transaction_read_only = on;
