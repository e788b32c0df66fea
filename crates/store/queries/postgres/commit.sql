/* iostall:commit */
COMMIT;
