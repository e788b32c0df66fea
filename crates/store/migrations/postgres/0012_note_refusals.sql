/* iostall:postgres_0012_note_refusals */

/* What was not taken of a server last, and why: an operator sees it, whatever the server does with the answer. */
ALTER TABLE iostall.member ADD COLUMN refused text, ADD COLUMN refused_at timestamptz;
