/* iostall:lock_source_of_member */
-- As lock_source has it, with whose it is, and whether the member that asks may send now.
SELECT s.number, s.name, s.last_number, s.rolled_up_to, s.rolled_up_utc_ns, s.appended, s.server, m.state
FROM iostall.source AS s JOIN iostall.member AS m ON m.server = $2
WHERE s.id = $1::text::uuid FOR UPDATE OF s;
