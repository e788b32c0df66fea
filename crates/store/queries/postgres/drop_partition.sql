/* iostall:drop_partition */
DROP TABLE {partition};
