/* iostall:lock_pushes */
-- One at a time: what follows from an answer depends on all others.
LOCK TABLE iostall.push IN SHARE ROW EXCLUSIVE MODE;
