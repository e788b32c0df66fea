/* iostall:postgres_send_name */
SELECT length(textsend(current_database()));
