/* iostall:postgres_take_function */
-- Somebody who is no superuser has the function now.
CREATE ROLE somebody;
ALTER FUNCTION iostall.data_directory() OWNER TO somebody;
