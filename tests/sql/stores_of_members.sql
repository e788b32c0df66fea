/* iostall:test_stores_of_members */
SELECT m.name || ' ' || v.id FROM iostall.member AS m JOIN iostall.server AS v ON v.number = m.server ORDER BY m.name;
