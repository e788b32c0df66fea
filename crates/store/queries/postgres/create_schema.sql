/* iostall:create_schema */
CREATE SCHEMA iostall;
