/* iostall:change_commit */
COMMIT;
