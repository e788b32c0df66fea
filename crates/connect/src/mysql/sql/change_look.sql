/* iostall:change_look */
START TRANSACTION READ ONLY
