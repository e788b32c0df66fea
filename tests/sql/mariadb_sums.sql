/* iostall:mariadb_sums */
CHECKSUM TABLE `fill`.plain, `fill`.zip, `fill`.packed, `fill`.old, `fill`.crash_safe
