/* iostall:lake_lock_tables */
-- In the order of the writers. Dropping a partition takes these locks anyhow.
LOCK TABLE ONLY iostall.sample_row, ONLY iostall.sample IN ACCESS EXCLUSIVE MODE;
