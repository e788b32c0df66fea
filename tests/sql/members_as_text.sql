/* iostall:test_members_as_text */
SELECT string_agg(m::text, ' ') FROM iostall.member AS m;
