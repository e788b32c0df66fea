/* iostall:put_import */
INSERT INTO watch_import (source, sample, taken_utc_ns) VALUES (:source, :sample, :taken_utc_ns)
ON CONFLICT (source) DO UPDATE SET sample = excluded.sample, taken_utc_ns = excluded.taken_utc_ns;
