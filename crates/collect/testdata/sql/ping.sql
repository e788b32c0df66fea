/* iostall:ping */
SELECT 1
