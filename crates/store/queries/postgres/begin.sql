/* iostall:begin */
BEGIN;
