/* iostall:refuse_gaps */
CREATE TEMP TRIGGER refuse_gaps BEFORE INSERT ON main.watch_gap
BEGIN
  SELECT raise(ABORT, 'no room for gaps');
END;
