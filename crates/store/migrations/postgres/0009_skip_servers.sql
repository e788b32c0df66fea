/* iostall:postgres_0009_skip_servers */

/* A server that is off no longer holds up a push: an operator skips it, or ends the push. */
ALTER TABLE iostall.push DROP CONSTRAINT push_state_check;
ALTER TABLE iostall.push ADD CONSTRAINT push_state_check
    CHECK (state IN ('running', 'halted', 'ended', 'done', 'undoing', 'undone'));

/* 'skipped': nobody waits for it. It takes the release when it comes back, unless the push was halted, ended or undone. */
ALTER TABLE iostall.push_server DROP CONSTRAINT push_server_state_check;
ALTER TABLE iostall.push_server ADD CONSTRAINT push_server_state_check
    CHECK (state IN ('waiting', 'asked', 'skipped', 'applied', 'failed', 'undo', 'undone', 'undo-failed', 'left'));
