/* iostall:put_member_state */
UPDATE iostall.member SET state = $2, state_since = now() WHERE server = $1;
