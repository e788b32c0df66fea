/* iostall:change_commit */
COMMIT TRANSACTION;
