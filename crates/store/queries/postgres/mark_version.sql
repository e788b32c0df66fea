/* iostall:mark_version */
UPDATE iostall.repository SET schema_version = $1;
