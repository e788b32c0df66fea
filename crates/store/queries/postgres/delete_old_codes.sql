/* iostall:delete_old_codes */
DELETE FROM iostall.join_code WHERE expires < now() - interval '30 days';
