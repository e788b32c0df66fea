/* iostall:host_postgres_checkpoint */
CHECKPOINT;
