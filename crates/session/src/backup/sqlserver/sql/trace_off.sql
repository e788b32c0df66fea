/* iostall:backup_trace_off */
DBCC TRACEOFF (3605, 3004, 3014, 3212, 3213) WITH NO_INFOMSGS;
