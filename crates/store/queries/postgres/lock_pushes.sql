/* iostall:lock_pushes */
-- One at a time: each entry of the log names the one before.
LOCK TABLE iostall.push_log IN SHARE ROW EXCLUSIVE MODE;
