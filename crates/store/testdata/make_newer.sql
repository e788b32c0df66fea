/* iostall:test_make_newer */
UPDATE iostall.repository SET schema_version = 99;
