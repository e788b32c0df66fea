/* iostall:drill_writable */
-- Sessions begin read-only; an extension is created in this one.
SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE
