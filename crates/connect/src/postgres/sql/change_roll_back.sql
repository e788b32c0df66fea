/* iostall:change_roll_back */
ROLLBACK;
