/* iostall:count_samples_between */
SELECT count(*)
  FROM watch_sample
 WHERE source = :source AND number > :after AND number <= :until;
