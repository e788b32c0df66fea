/* iostall:names_with_full_stop */
CREATE SCHEMA "a.b";
CREATE SCHEMA a;
CREATE TABLE "a.b".c ();
CREATE TABLE a."b.c" ();
