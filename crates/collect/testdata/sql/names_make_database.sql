/* iostall:names_make_database */
CREATE DATABASE misnamed
