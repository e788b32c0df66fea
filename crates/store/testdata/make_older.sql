/* iostall:test_make_older */
UPDATE iostall.repository SET schema_version = 0;
