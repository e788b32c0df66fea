/* iostall:settings_traces */
DBCC TRACESTATUS(-1) WITH NO_INFOMSGS;
