/* iostall:drop_partition */
DROP TABLE iostall.{partition};
