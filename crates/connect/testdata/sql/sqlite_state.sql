/* iostall:sqlite_state */
SELECT (SELECT integrity_check FROM pragma_integrity_check),
       coalesce(sum(balance), 0),
       coalesce(sum(abs(balance)), 0)
FROM account
