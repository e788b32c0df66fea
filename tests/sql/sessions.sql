/* iostall:sessions */
SELECT count(*) AS sessions
  FROM pg_stat_activity
 WHERE application_name = 'iostall';
