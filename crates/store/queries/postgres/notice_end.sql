/* iostall:notice_end */
-- A sender that is gone without a word holds its lock for no longer than a minute.
SET tcp_keepalives_idle = 30;
SET tcp_keepalives_interval = 10;
SET tcp_keepalives_count = 3;
