/* iostall:test_forge_log */
-- A superuser can take the trigger away. The signatures stay.
ALTER TABLE iostall.push_log DISABLE TRIGGER push_log_stays;
UPDATE iostall.push_log SET signed = replace(signed, '"servers":3', '"servers":1') WHERE signed LIKE '%"servers":3%';
