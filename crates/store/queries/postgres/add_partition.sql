/* iostall:add_partition */
-- Made and then attached: that lets others read and write meanwhile, which CREATE TABLE PARTITION OF does not.
CREATE TABLE iostall.{partition} (LIKE iostall.{table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
ALTER TABLE iostall.{table} ATTACH PARTITION iostall.{partition} FOR VALUES FROM ('{from}') TO ('{to}');
