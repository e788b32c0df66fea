/* iostall:test_count_orphans */
/* Runs without a document or without their target, and documents or targets without a run: halves. */
SELECT (SELECT count(*) FROM run WHERE number NOT IN (SELECT run_number FROM run_document))
     + (SELECT count(*) FROM run WHERE number NOT IN (SELECT run_number FROM run_target))
     + (SELECT count(*) FROM run_document WHERE run_number NOT IN (SELECT number FROM run))
     + (SELECT count(*) FROM run_target WHERE run_number NOT IN (SELECT number FROM run));
